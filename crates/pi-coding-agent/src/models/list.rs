//! The table of `--list-models`.

use std::sync::Arc;

use pi_ai::Model;

use super::registry::ModelRegistry;
use super::resolver::NO_MODELS_HINT;

/// What to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The table, or why there is none; lines end in a line feed.
    pub text: String,
    /// Providers that have a key but whose models this build cannot reach.
    pub notes: Vec<String>,
}

/// Lists the models that can be used. `search` keeps those whose `provider/id` holds the letters of
/// each of its words in order, ignoring case.
pub fn list_models(registry: &ModelRegistry, search: Option<&str>) -> Listing {
    let notes = unreachable(registry);
    let mut models = registry.available();
    if models.is_empty() {
        return Listing { text: format!("No models available. {NO_MODELS_HINT}\n"), notes };
    }
    let search = search.unwrap_or_default();
    models.retain(|model| search.split_whitespace().all(|word| is_spread_in(word, &name(model))));
    if models.is_empty() {
        return Listing { text: format!("No models matching \"{search}\"\n"), notes };
    }
    models.sort_by_cached_key(|model| {
        let Model { provider, id, .. } = &**model;
        (provider.to_lowercase(), provider.clone(), id.to_lowercase(), id.clone())
    });
    Listing { text: table(&models), notes }
}

fn table(models: &[Arc<Model>]) -> String {
    let head = ["provider", "model", "context", "max-out", "thinking", "images"].map(str::to_owned);
    let rows: Vec<[String; 6]> =
        std::iter::once(head).chain(models.iter().map(|model| row(model))).collect();
    let widths = [0, 1, 2, 3, 4, 5].map(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    });
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(&cells.join("  "));
        text.push('\n');
    }
    text
}

fn row(model: &Model) -> [String; 6] {
    let yes_or_no = |flag: bool| (if flag { "yes" } else { "no" }).to_owned();
    [
        model.provider.clone(),
        model.id.clone(),
        tokens(model.context_window),
        tokens(model.max_tokens),
        yes_or_no(model.reasoning),
        yes_or_no(model.sees_images()),
    ]
}

/// A number of tokens in thousands or millions, with one digit unless it is whole.
fn tokens(count: u64) -> String {
    let (unit, sign) = match count {
        0..1_000 => return count.to_string(),
        1_000..1_000_000 => (1_000, 'K'),
        _ => (1_000_000, 'M'),
    };
    if count.is_multiple_of(unit) {
        return format!("{}{sign}", count / unit);
    }
    let tenths = (count + unit / 20) / (unit / 10);
    format!("{}.{}{sign}", tenths / 10, tenths % 10)
}

fn name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

fn is_spread_in(word: &str, name: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    word.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|letter| letter == wanted))
}

fn unreachable(registry: &ModelRegistry) -> Vec<String> {
    let unsupported = |id: &&str| registry.supported(id).is_err() && registry.has_key(id);
    let ids = registry.provider_ids().into_iter().filter(unsupported);
    ids.filter_map(|id| registry.supported(id).err()).map(|error| error.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::registry::tests::registry;
    use super::*;

    const FX: &str = r#"{"providers":{"fx-anthropic":{"baseUrl":"http://h","api":"anthropic-messages","apiKey":"k","models":[
        {"id":"m-think","contextWindow":200000,"maxTokens":32000,"reasoning":true,"input":["text","image"]},
        {"id":"m-plain","name":"Shown","contextWindow":200000,"maxTokens":8192},
        {"id":"m-small","contextWindow":32000,"maxTokens":4096}]},
        "other":{"baseUrl":"http://h","api":"anthropic-messages","apiKey":"k","models":[{"id":"z"}]},
        "nokey":{"baseUrl":"http://h","api":"anthropic-messages","models":[{"id":"m"}]}}}"#;

    #[test]
    fn the_table_has_the_recorded_form() {
        let listing = list_models(&registry(FX, "{}", &[]), Some("fx-anthropic"));
        assert_eq!(
            listing.text,
            "provider      model    context  max-out  thinking  images\n\
             fx-anthropic  m-plain  200K     8.2K     no        no    \n\
             fx-anthropic  m-small  32K      4.1K     no        no    \n\
             fx-anthropic  m-think  200K     32K      yes       yes   \n"
        );
        assert!(listing.notes.is_empty());
    }

    #[test]
    fn search_looks_at_provider_and_id_and_not_at_names() {
        let registry = registry(FX, "{}", &[]);
        let found = |search| list_models(&registry, Some(search)).text.lines().count() - 1;
        for (search, count) in [("", 4), ("z", 1), ("FXSML", 1), ("fx m-p", 1), ("anthropic/m", 3)]
        {
            assert_eq!(found(search), count, "{search}");
        }
        assert_eq!(list_models(&registry, Some("shown")).text, "No models matching \"shown\"\n");
        assert_eq!(list_models(&registry, None).text.lines().count(), 5);
    }

    #[test]
    fn token_counts_are_short() {
        let cases = [
            (999, "999"),
            (1_234, "1.2K"),
            (8_192, "8.2K"),
            (16_384, "16.4K"),
            (128_000, "128K"),
            (131_072, "131.1K"),
            (999_999, "1000.0K"),
            (1_000_000, "1M"),
            (1_048_576, "1.0M"),
            (1_500_000, "1.5M"),
        ];
        for (count, expected) in cases {
            assert_eq!(tokens(count), expected);
        }
    }

    #[test]
    fn without_keys_it_says_what_to_do() {
        let listing = list_models(&registry("{}", "{}", &[]), Some("x"));
        assert!(listing.text.starts_with("No models available. "), "{}", listing.text);
        assert!(listing.text.contains("ANTHROPIC_API_KEY"));
    }

    #[test]
    fn a_key_for_a_provider_this_build_cannot_reach_is_not_ignored() {
        let listing = list_models(&registry(FX, "{}", &[("GEMINI_API_KEY", "k")]), None);
        assert_eq!(listing.notes.len(), 1);
        assert!(listing.notes[0].contains("\"google\" speaks google-generative-ai"));
    }
}
