/// The recorded steps that the embedded gateway does not repeat: by scene and number of the step, what is different,
/// and why it stays so.
enum SceneExceptions {
    private static let star =
        "a document in the channel * is listed once: the second row of the same sequence is an oddity of one version"
    private static let databases =
        "databases are neither made nor described: there is one, and its function is read from the configuration"

    static let reasons: [String: [Int: String]] = [
        "channel-names": [6: star, 11: "NUL is no part of a channel's name: such names are not in use"],
        "star-and-bang": [5: star], "no-function": [4: star, 19: databases],
        "throw-kinds": [
            1: surrogates, 2: surrogates,
        ],
        "sees-types": [
            1: "members of a document are the same object each time: doc.o === doc.o is false there, which no function "
                + "relies on"
        ],
        "sees-numbers": [
            1: "Duktape rounds 9007199254740993 up where an operator converts a text, as in doc.n * 1: that is code of "
                + "the engine; Number(doc.n) and parseFloat round as there"
        ],
        "sees-old-document": [
            15: "tombstones keep their members, as on Sync Gateway 3.3 and CouchDB; the function does not see them"
        ],
        "language": [1: "Number.MAX_SAFE_INTEGER is there, which ES5 does not have"],
        "config-with-function": Dictionary(
            uniqueKeysWithValues: ((1...1).map { $0 } + Array(3...15)).map { ($0, databases) }),
        "expiry": [
            18: "an expired document is a tombstone before anybody asks for it; the real one notices it at a request"
        ],
    ]

    private static let surrogates =
        "an escaped surrogate pair in a thrown text is one character; there it is two that UTF-8 does not have"

    /// Sequences that the real gateway skipped after a pause, before the step.
    static let sequences: [String: [Int: Int]] = ["revocation": [18: 1]]
}
