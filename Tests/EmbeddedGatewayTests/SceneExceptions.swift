/// What of the recorded scenes the embedded gateway does not repeat: the reasons by scene and number of the step.
enum SceneExceptions {
    private static let star = "a document in the channel * is listed once"
    private static let databases = "databases are neither made nor described"

    static let reasons: [String: [Int: String]] = [
        "channel-names": [6: star, 11: "NUL is no part of a channel's name"],
        "star-and-bang": [5: star], "no-function": [4: star, 19: databases],
        "throw-kinds": [
            1: "an escaped surrogate pair is one character", 2: "an escaped surrogate pair is one character",
        ],
        "sees-types": [1: "members of a document are the same object each time"],
        "sees-numbers": [1: "Duktape rounds 9007199254740993 up"],
        "sees-document": [17: "where _rev and _cv are given, _rev counts"],
        "sees-old-document": [15: "tombstones keep their members"],
        "language": [1: "'use strict' is taken seriously"],
        "es6-refused": [
            13: "{a} is accepted", 14: "{m() {}} is accepted",
        ],
        "config-with-function": Dictionary(
            uniqueKeysWithValues: ((1...1).map { $0 } + Array(3...15)).map { ($0, databases) }),
        "expiry": [18: "an expired document is a tombstone before anybody asks for it"],
    ]

    /// Sequences that the real gateway passed over after a pause, before the step.
    static let sequences: [String: [Int: Int]] = ["revocation": [18: 1]]
}
