use super::*;

const SOURCE: &str = r#"{"source":"pkg@1","generatedAt":"2026-01-01","providers":[
{"id":"acme","name":"Acme","baseUrl":"https://a","apis":["x"],"auth":{"apiKey":"Acme key"},"models":3}
],"models":[
{"provider":"acme","type":"chat","id":"b","name":"B","api":"wire","headers":{"Editor-Version":"other/1","X-Poll":"1"}},
{"provider":"acme","type":"chat","id":"a","name":"A","api":"wire","headers":{"User-Agent":"Other/1"},"lab":"kept"},
{"provider":"acme","type":"image","id":"i","name":"I","api":"pictures"}
]}"#;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn refresh(&self, source: &str) -> String {
        let file = self.0.path().join("source.json");
        fs::write(&file, source).unwrap();
        refresh(self.0.path(), &file).unwrap()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.path().join(path), text).unwrap();
    }
}

#[test]
fn one_file_per_provider_holds_one_chat_model_a_line_in_id_order() {
    let tree = Tree::new();
    let report = tree.refresh(SOURCE);
    assert_eq!(
        tree.read("crates/pi-ai/data/models/acme.json"),
        "[\n{\"id\":\"a\",\"provider\":\"acme\",\"name\":\"A\",\"api\":\"wire\",\"lab\":\"kept\"},\n\
         {\"id\":\"b\",\"provider\":\"acme\",\"name\":\"B\",\"api\":\"wire\",\"headers\":{\"X-Poll\":\"1\"}}\n]\n"
    );
    assert!(report.contains("added: 2"), "{report}");
    assert!(report.contains("left out: 1 models of type image"), "{report}");
    assert!(report.contains("dropped header Editor-Version"), "{report}");
    assert!(report.contains("dropped header User-Agent"), "{report}");
    assert!(tree.read("crates/pi-ai/src/catalog/files.rs").contains("\"acme\", include_str!"));
    assert!(tree.read("crates/pi-ai/data/LICENSE-models").contains("pkg@1"));
}

#[test]
fn what_people_wrote_about_a_provider_stays() {
    let tree = Tree::new();
    let report = tree.refresh(SOURCE);
    assert!(report.contains("provider acme is new"), "{report}");
    let providers = "crates/pi-ai/data/providers.json";
    tree.write(
        providers,
        r#"[{"id":"gone","keys":[]},{"id":"acme","name":"Old","defaultModel":"a","keys":[{"env":"ACME_KEY"}]}]"#,
    );
    let report = tree.refresh(SOURCE);
    assert!(report.contains("provider gone is gone"), "{report}");
    assert_eq!(
        tree.read(providers),
        "[\n{\"id\":\"acme\",\"name\":\"Acme\",\"baseUrl\":\"https://a\",\"apis\":[\"wire\"],\
         \"keyName\":\"Acme key\",\"defaultModel\":\"a\",\"keys\":[{\"env\":\"ACME_KEY\"}]}\n]\n"
    );
}

#[test]
fn a_second_run_reports_what_changed() {
    let tree = Tree::new();
    tree.refresh(SOURCE);
    let later =
        SOURCE.replace("\"name\":\"A\"", "\"name\":\"A2\"").replace("\"id\":\"b\"", "\"id\":\"c\"");
    let report = tree.refresh(&later);
    for line in ["added: 1\n  acme/c", "removed: 1\n  acme/b", "changed: 1\n  acme/a"] {
        assert!(report.contains(line), "{report}");
    }
    let unchanged = tree.refresh(&later);
    assert!(unchanged.contains("added: 0\nremoved: 0\nchanged: 0"), "{unchanged}");
}

#[test]
fn faults_of_the_source_are_errors() {
    let twice = SOURCE.replace("\"id\":\"a\"", "\"id\":\"b\"");
    let path = SOURCE.replace("\"acme\"", "\"../acme\"");
    for (source, expected) in [(twice, "listed twice"), (path, "cannot be a file name")] {
        let tree = Tree::new();
        let file = tree.0.path().join("source.json");
        fs::write(&file, source).unwrap();
        let error = refresh(tree.0.path(), &file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
