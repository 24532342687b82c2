// Source code in colours: comments, strings, numbers and the common words of a language.

const words = (text) => new Set(text.split(" "));
const C_LIKE =
  "abstract as async await auto bool boolean break byte case catch char class const constexpr continue default defer delete do double else enum export extends extern false final finally float fn for foreach from func function go goto if impl implements import in instanceof int interface internal is let long loop match mod mut namespace new nil null nullptr of operator override package private protected pub public readonly ref return self short signed sizeof static string struct super switch template this throw throws trait true try type typedef typename typeof undefined union unsafe unsigned use using val var virtual void volatile where while with yield";
const SCRIPT =
  "alias and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except export False fi finally for from function global if import in is lambda local module None nonlocal not or pass print raise rescue return self set source then True try unless until when while with yield true false null";
const SQL =
  "add all alter and as asc begin between by case commit create cross default delete desc distinct drop else end exists from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references right rollback select set table then union unique update values view when where with";

const FAMILIES = {
  c: { comment: "\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)", keywords: words(C_LIKE) },
  script: { comment: "#[^\\n]*", keywords: words(SCRIPT) },
  sql: { comment: "--[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)", keywords: words(`${SQL} ${SQL.toUpperCase()}`) },
  data: { comment: "#[^\\n]*|\\/\\/[^\\n]*", keywords: words("true false null yes no") },
  markup: { comment: "<!-" + "-[^]*?(?:-->|$)", keywords: words("") },
};
const LANGUAGES = {
  c: "c h cc cpp cxx hpp cs java js javascript mjs cjs jsx ts typescript tsx rs rust go kt kotlin swift scala php dart zig proto css scss less jsonc json5",
  script: "sh bash zsh shell fish py python rb ruby pl perl r lua make makefile dockerfile elixir ex nix cmake",
  sql: "sql",
  data: "json yaml yml toml ini conf",
  markup: "html xml svg vue svelte",
};
const FAMILY_OF = new Map(
  Object.entries(LANGUAGES).flatMap(([family, names]) => names.split(" ").map((name) => [name, family])),
);
/** Above this length colours are not worth the wait. */
const MAX_COLOURED = 100_000;

/** Code as nodes; plain where the language is not known. */
function coloured(code, language) {
  const name = str(language).toLowerCase();
  if (name === "diff" || name === "patch") return diffLines(code);
  const family = FAMILIES[FAMILY_OF.get(name)];
  const out = document.createDocumentFragment();
  if (!family || code.length > MAX_COLOURED) {
    out.append(code);
    return out;
  }
  const pattern = new RegExp(
    `(?<comment>${family.comment})|(?<string>"(?:[^"\\\\\\n]|\\\\.)*"?|\`(?:[^\`\\\\]|\\\\.)*\`|'(?:[^'\\\\\\n]|\\\\.)*')` +
      "|(?<number>\\b(?:0[xob][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b)|(?<word>[A-Za-z_$][\\w$]*)(?<call>\\s*\\()?",
    "g",
  );
  let from = 0;
  for (const found of code.matchAll(pattern)) {
    const { comment, string, word, call } = found.groups;
    let kind = "number";
    if (comment) kind = "comment";
    else if (string) kind = "string";
    else if (word) {
      kind = family.keywords.has(word) ? "keyword" : call ? "function" : /^[A-Z][a-z]/.test(word) ? "type" : "";
    }
    if (!kind) continue;
    const text = word ?? found[0];
    out.append(code.slice(from, found.index), make("span", `syntax-${kind}`, text));
    from = found.index + text.length;
  }
  out.append(code.slice(from));
  return out;
}

/** Lines that begin with `+` or `-` in the colours of a change. */
function diffLines(text) {
  const out = document.createDocumentFragment();
  for (const line of str(text).replace(/\n$/, "").split("\n")) {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "context";
    out.append(make("span", `diff-${kind}`, line), "\n");
  }
  return out;
}

const extensionOf = (path) => /\.([A-Za-z0-9]+)$/.exec(str(path))?.[1] ?? "";
