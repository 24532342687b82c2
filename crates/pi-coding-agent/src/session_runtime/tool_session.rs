//! What the tools may know of the session while it runs.

use std::path::PathBuf;
use std::sync::OnceLock;

use pi_agent::harness::{Harness, WeakHarness};
use pi_agent::session::Session;

use crate::tools::{SessionVariables, ToolModel, ToolSession};

/// Reads model and level from the harness at each call. The tools exist before it does, so it is
/// attached later.
#[derive(Debug)]
pub(super) struct LiveSession {
    id: String,
    file: Option<PathBuf>,
    auto_resize_images: bool,
    harness: OnceLock<WeakHarness>,
}

impl LiveSession {
    pub(super) fn new(session: &Session, auto_resize_images: bool) -> Self {
        Self {
            id: session.id().to_owned(),
            file: session.path().map(ToOwned::to_owned),
            auto_resize_images,
            harness: OnceLock::new(),
        }
    }

    /// The first harness stays.
    pub(super) fn attach(&self, harness: WeakHarness) {
        drop(self.harness.set(harness));
    }
}

impl ToolSession for LiveSession {
    fn variables(&self) -> SessionVariables {
        let harness = self.harness.get().and_then(WeakHarness::upgrade);
        let model = harness.as_ref().map(Harness::model);
        SessionVariables {
            session_id: Some(self.id.clone()),
            session_file: self.file.clone(),
            provider: model.as_ref().map(|model| model.provider.clone()),
            model: model.as_ref().map(|model| model.id.clone()),
            reasoning_level: harness.map(|harness| harness.thinking_level().to_string()),
        }
    }

    fn model(&self) -> ToolModel {
        let Some(harness) = self.harness.get().and_then(WeakHarness::upgrade) else {
            return ToolModel::default();
        };
        let model = harness.model();
        let images = model.input_limits.as_ref().and_then(|limits| limits.images.as_ref());
        ToolModel {
            id: model.id.clone(),
            sees_images: model.sees_images(),
            image_resize: images.and_then(|images| images.resize.clone()),
        }
    }

    fn auto_resize_images(&self) -> bool {
        self.auto_resize_images
    }
}
