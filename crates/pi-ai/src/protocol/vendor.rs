//! Who is behind a model: by provider id, or by what its base URL contains.

use crate::types::Model;

/// Hosts with ways of their own. Several may match one model, e.g. the `openai` provider pointed at
/// somebody else's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    AntLing,
    Cerebras,
    Chutes,
    CloudflareAiGateway,
    CloudflareWorkersAi,
    DeepSeek,
    GitHubCopilot,
    Moonshot,
    Nvidia,
    OpenAi,
    /// OpenCode Zen and Go alike.
    OpenCode,
    OpenCodeGo,
    OpenRouter,
    Together,
    XAi,
    Zai,
}

impl Vendor {
    /// Whether this vendor serves `model`. The case of the URL does not matter.
    pub(super) fn serves(self, model: &Model) -> bool {
        let (providers, url_parts) = self.marks();
        if providers.contains(&model.provider.as_str()) {
            return true;
        }
        let url = model.base_url.to_ascii_lowercase();
        url_parts.iter().any(|part| url.contains(part))
    }

    /// Provider ids, and parts of a base URL.
    fn marks(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::AntLing => (&["ant-ling"], &["api.ant-ling.com"]),
            Self::Cerebras => (&["cerebras"], &["cerebras.ai"]),
            Self::Chutes => (&[], &["chutes.ai"]),
            Self::CloudflareAiGateway => {
                (&["cloudflare-ai-gateway"], &["gateway.ai.cloudflare.com"])
            }
            Self::CloudflareWorkersAi => (&["cloudflare-workers-ai"], &["api.cloudflare.com"]),
            Self::DeepSeek => (&["deepseek"], &["deepseek.com"]),
            Self::GitHubCopilot => (&["github-copilot"], &[]),
            Self::Moonshot => (&["moonshotai", "moonshotai-cn"], &["api.moonshot."]),
            Self::Nvidia => (&["nvidia"], &["integrate.api.nvidia.com"]),
            Self::OpenAi => (&["openai"], &["api.openai.com"]),
            Self::OpenCode => (&["opencode", "opencode-go"], &["opencode.ai"]),
            Self::OpenCodeGo => (&["opencode-go"], &["opencode.ai/inference/go"]),
            Self::OpenRouter => (&["openrouter"], &["openrouter.ai"]),
            Self::Together => (&["together"], &["api.together.ai", "api.together.xyz"]),
            Self::XAi => (&["xai"], &["api.x.ai"]),
            Self::Zai => (&["zai", "zai-coding-cn"], &["api.z.ai", "bigmodel.cn"]),
        }
    }
}
