use std::fmt::Write as _;

use super::*;

fn told(file: &str, text: &str) -> Option<String> {
    nearest(file.as_bytes(), text.as_bytes()).map(|nearest| nearest.to_string())
}

const CODE: &str = "\
fn one() {
    first(1);
}

fn two() {
    if ready {
        second(a, b);
    }
}
";

#[test]
fn the_most_similar_lines_are_told_as_they_are() {
    let cases = [
        // Another indentation.
        (
            "if ready {\n    second(a, b);\n}\n",
            "Most like it are lines 6-8, different in whitespace only:\n    if ready {\n        \
             second(a, b);\n    }",
        ),
        // One line is different.
        (
            "fn two() {\n    if ready {\n        second(a, c);\n    }\n",
            "Most like it are lines 5-8, different from line 7 on:\nfn two() {\n    if ready {\n        \
             second(a, b);\n    }",
        ),
        // A line too many.
        (
            "fn two() {\n\n    if ready {\n        second(a, b);\n",
            "Most like it are lines 5-8, different from line 6 on:\nfn two() {\n    if ready {\n        \
             second(a, b);\n    }",
        ),
        // Part of a line, spelt wrong.
        (
            "second(a,b,c)",
            "Most like it is line 7, different from line 7 on:\n        second(a, b);",
        ),
        (
            "fn one()\n{",
            "Most like it are lines 1-2, different from line 1 on:\nfn one() {\n    first(1);",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(told(CODE, text).as_deref(), Some(want), "{text:?}");
    }
}

#[test]
fn nothing_is_told_where_nothing_is_similar() {
    for (file, text) in [
        (CODE, "zebra"),
        (CODE, "while let Some(item) = queue.pop() {\n    handle(item);\n}\n"),
        (CODE, "\n\n"),
        ("", "fn one() {\n"),
        ("one\n", "  "),
        ("return value;\n", "def value_of(self, key, default=None):\n    pass\n"),
    ] {
        assert_eq!(told(file, text), None, "{text:?}");
    }
}

#[test]
fn among_equal_lines_the_rare_ones_say_where() {
    let mut file = String::new();
    for i in 0..3000 {
        _ = writeln!(file, "  common line\n  other line\n  value {i}\n");
    }
    let told = told(&file, "  common line\n  other line\n  value  1234\n  more\n").unwrap();
    assert!(
        told.starts_with("Most like it are lines 4937-4940, different from line 4939 on:"),
        "{told}"
    );
}

#[test]
fn what_is_shown_of_a_long_text_is_its_first_difference() {
    let file: String = (1..=500).fold(String::new(), |mut file, i| {
        _ = writeln!(file, "line number {i}");
        file
    });
    let text = file.replace("number 150\n", "numbr 150\n");
    let told = nearest(file.as_bytes(), text.as_bytes()).unwrap();
    assert_eq!((told.first_line, told.lines.len()), (148, 12));
    assert_eq!(told.difference, Difference::Line(150));
}

#[test]
fn of_a_long_line_only_a_part_is_shown() {
    let noise = "\u{e9}x = 1; ".repeat(100_000);
    let file = format!("{noise}call(first, second);{noise}\n{noise}");
    let told = told(&file, "call(first,  second, third)").unwrap();
    assert!(told.starts_with("Most like it is line 1, different from line 1 on:\n[...]"), "{told}");
    assert!(told.contains("call(first, second);") && told.ends_with("[...]"), "{told}");
    assert!(told.len() < 600);
    let wide = format!("{}\n", "word ".repeat(100)).repeat(40);
    let told = nearest(wide.as_bytes(), format!(" {wide}.").as_bytes()).unwrap();
    assert!(told.to_string().len() < 2200);
}
