//! Several hooks of a request as one.
//!
//! Owns: in which order they are asked and how their answers combine. Never: answers by itself.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use serde_json::Value;

use super::RequestHooks;
use crate::protocol::RequestBody;
use crate::types::Model;

/// Hooks asked one after the other, in their order; each sees what the ones before have made of
/// body and headers.
#[derive(Debug, Clone, Default)]
pub struct RequestHookChain(Vec<Arc<dyn RequestHooks>>);

impl FromIterator<Arc<dyn RequestHooks>> for RequestHookChain {
    fn from_iter<I: IntoIterator<Item = Arc<dyn RequestHooks>>>(hooks: I) -> Self {
        Self(hooks.into_iter().collect())
    }
}

#[deny(clippy::missing_trait_methods)]
impl RequestHooks for RequestHookChain {
    fn on_payload<'a>(
        &'a self,
        body: &'a RequestBody,
        model: &'a Model,
    ) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let mut changed: Option<(RequestBody, Value)> = None;
            for hooks in &self.0 {
                let current = changed.as_ref().map_or(body, |(body, _)| body);
                if let Some(value) = hooks.on_payload(current, model).await {
                    changed = Some((RequestBody::from(value.clone()), value));
                }
            }
            changed.map(|(_, value)| value)
        })
    }

    fn on_headers<'a>(&'a self, headers: &'a mut HeaderMap, model: &'a Model) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for hooks in &self.0 {
                hooks.on_headers(headers, model).await;
            }
        })
    }

    fn on_response<'a>(
        &'a self,
        status: u16,
        headers: &'a HeaderMap,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for hooks in &self.0 {
                hooks.on_response(status, headers, model).await;
            }
        })
    }

    fn on_stream_event(&self, event: Option<&str>, data: &str, model: &Model) {
        for hooks in &self.0 {
            hooks.on_stream_event(event, data, model);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use http::HeaderValue;
    use serde_json::json;

    use super::*;
    use crate::faux::FauxProvider;

    #[derive(Debug)]
    struct Link {
        name: &'static str,
        seen: Arc<Mutex<Vec<String>>>,
    }

    impl Link {
        fn note(&self, what: impl std::fmt::Display) {
            self.seen.lock().unwrap().push(format!("{} {what}", self.name));
        }
    }

    impl RequestHooks for Link {
        fn on_payload<'a>(
            &'a self,
            body: &'a RequestBody,
            _model: &'a Model,
        ) -> BoxFuture<'a, Option<Value>> {
            let mut value = body.to_value();
            self.note(&value);
            // The last one looks only.
            let changed = self.name != "c";
            value[self.name] = json!(1);
            Box::pin(std::future::ready(changed.then_some(value)))
        }

        fn on_headers<'a>(
            &'a self,
            headers: &'a mut HeaderMap,
            _model: &'a Model,
        ) -> BoxFuture<'a, ()> {
            headers.append("x-by", HeaderValue::from_static(self.name));
            Box::pin(std::future::ready(()))
        }

        fn on_response<'a>(
            &'a self,
            status: u16,
            _headers: &'a HeaderMap,
            _model: &'a Model,
        ) -> BoxFuture<'a, ()> {
            self.note(status);
            Box::pin(std::future::ready(()))
        }

        fn on_stream_event(&self, _event: Option<&str>, data: &str, _model: &Model) {
            self.note(data);
        }
    }

    #[tokio::test]
    async fn each_sees_what_the_ones_before_have_made_of_a_request() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let link = |name| Arc::new(Link { name, seen: Arc::clone(&seen) }) as Arc<dyn RequestHooks>;
        let chain: RequestHookChain = ["a", "b", "c"].map(link).into_iter().collect();
        let (model, body) = (FauxProvider::model(), RequestBody::from(json!({"m": 0})));
        let sent = chain.on_payload(&body, &model).await;
        assert_eq!(sent, Some(json!({"m": 0, "a": 1, "b": 1})));
        let mut headers = HeaderMap::new();
        chain.on_headers(&mut headers, &model).await;
        assert_eq!(headers.get_all("x-by").iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        chain.on_response(200, &headers, &model).await;
        chain.on_stream_event(None, "data", &model);
        let expected = [
            r#"a {"m":0}"#,
            r#"b {"m":0,"a":1}"#,
            r#"c {"m":0,"a":1,"b":1}"#,
            "a 200",
            "b 200",
            "c 200",
            "a data",
            "b data",
            "c data",
        ];
        assert_eq!(*seen.lock().unwrap(), expected);
        assert_eq!(RequestHookChain::default().on_payload(&body, &model).await, None);
    }
}
