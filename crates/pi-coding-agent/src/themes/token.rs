//! The colours a theme has, by what they are for.

macro_rules! tokens {
    ($($variant:ident $name:literal $(or $fallback:ident)?),* $(,)?) => {
        /// What a colour is for. Those whose name ends with `Bg` are backgrounds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Token { $($variant),* }

        impl Token {
            /// Every token, in the order of the format.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As theme files have it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Whose colour it has where a theme gives it none; `None`: a theme must.
            pub const fn fallback(self) -> Option<Self> {
                match self { $(Self::$variant => tokens!(@ $($fallback)?)),* }
            }
        }
    };
    (@) => { None };
    (@ $fallback:ident) => { Some(Self::$fallback) };
}

tokens! {
    Accent "accent",
    Border "border",
    BorderAccent "borderAccent",
    BorderMuted "borderMuted",
    Success "success",
    Error "error",
    Warning "warning",
    Muted "muted",
    Dim "dim",
    Text "text",
    ThinkingText "thinkingText",
    SelectedBg "selectedBg",
    UserMessageBg "userMessageBg",
    CustomMessageBg "customMessageBg",
    ToolPendingBg "toolPendingBg",
    ToolSuccessBg "toolSuccessBg",
    ToolErrorBg "toolErrorBg",
    UserMessageText "userMessageText",
    CustomMessageText "customMessageText",
    CustomMessageLabel "customMessageLabel",
    ToolTitle "toolTitle",
    ToolOutput "toolOutput",
    MdHeading "mdHeading",
    MdLink "mdLink",
    MdLinkUrl "mdLinkUrl",
    MdCode "mdCode",
    MdCodeBlock "mdCodeBlock",
    MdCodeBlockBorder "mdCodeBlockBorder",
    MdQuote "mdQuote",
    MdQuoteBorder "mdQuoteBorder",
    MdHr "mdHr",
    MdListBullet "mdListBullet",
    ToolDiffAdded "toolDiffAdded",
    ToolDiffRemoved "toolDiffRemoved",
    ToolDiffContext "toolDiffContext",
    SyntaxComment "syntaxComment",
    SyntaxKeyword "syntaxKeyword",
    SyntaxFunction "syntaxFunction",
    SyntaxVariable "syntaxVariable",
    SyntaxString "syntaxString",
    SyntaxNumber "syntaxNumber",
    SyntaxType "syntaxType",
    SyntaxOperator "syntaxOperator",
    SyntaxPunctuation "syntaxPunctuation",
    ThinkingOff "thinkingOff",
    ThinkingMinimal "thinkingMinimal",
    ThinkingLow "thinkingLow",
    ThinkingMedium "thinkingMedium",
    ThinkingHigh "thinkingHigh",
    ThinkingXhigh "thinkingXhigh",
    BashMode "bashMode",
    ScrollbarTrack "scrollbarTrack" or Muted,
    ScrollbarThumb "scrollbarThumb" or Text,
    SearchMatchBg "searchMatchBg" or SelectedBg,
    SearchMatchText "searchMatchText" or Text,
    ThinkingMax "thinkingMax" or ThinkingXhigh,
}

impl Token {
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|token| token.name() == name)
    }

    pub fn is_background(self) -> bool {
        self.name().ends_with("Bg")
    }
}
