/// What a jq program reads, as far as its text shows. For explanations and warnings, never for decisions.
///
/// Contains only certain paths from the document. Excludes code after a `|`, where '.' is a different value, and
/// arguments of functions that change their input (`map(.done)`).
struct ProgramReading {
    /// One step of a path: the name of a member, or the position of an element.
    enum Step: Hashable {
        case member(String)
        case element(Int)
    }

    /// Paths from the document: `.a.b[0]`.
    private(set) var paths: [[Step]] = []
    /// Paths from the common variables: `$change.deleted`.
    private(set) var variables: [(name: String, path: [Step])] = []
    /// Whether the program reads the current time.
    private(set) var readsTime = false

    private struct Place {
        enum Kind { case group, condition, interpolation }

        let kind: Kind
        let beganAtDocument: Bool
        /// Whether '.' is the document.
        var isAtDocument: Bool
    }

    private let text: [Unicode.Scalar]
    private var at = 0
    private var places = [Place(kind: .group, beganAtDocument: true, isAtDocument: true)]
    /// The next `|` belongs to `as $name |`, which does not change the input.
    private var nextPipeBindsVariable = false
    /// The next parenthesis opens the body of a `reduce`, or the arguments of a function that changes their input.
    private var nextGroupChangesInput = false

    init(_ program: String) {
        text = Array(program.unicodeScalars)
        while at < text.count, !places.isEmpty { readToken() }
    }

    private var isAtDocument: Bool { places.last?.isAtDocument ?? false }

    private func scalar(_ index: Int) -> Unicode.Scalar? { text.indices.contains(index) ? text[index] : nil }
}

// MARK: - Tokens

extension ProgramReading {
    private mutating func readToken() {
        let scalar = text[at]
        switch scalar {
        case "#": while at < text.count, text[at] != "\n" { at += 1 }
        case "\"":
            at += 1
            skipString()
        case ".": readPath()
        case "$": readVariable()
        case "(", "[", "{": open()
        case ")", "]", "}": close()
        case ";":
            places[places.count - 1].isAtDocument = places[places.count - 1].beganAtDocument
            at += 1
        case "|": readPipe()
        default:
            if let name = readName() { take(name) } else { at += 1 }
        }
    }

    private mutating func readPipe() {
        at += 1
        if !nextPipeBindsVariable { places[places.count - 1].isAtDocument = false }
        nextPipeBindsVariable = false
    }

    private mutating func open() {
        let isAtDocument = isAtDocument && !nextGroupChangesInput
        nextGroupChangesInput = false
        places.append(Place(kind: .group, beganAtDocument: isAtDocument, isAtDocument: isAtDocument))
        at += 1
    }

    private mutating func close() {
        let place = places.popLast()
        at += 1
        if case .interpolation? = place?.kind { skipString() }
    }

    /// Skips to the end of a string, or into one of its interpolations.
    private mutating func skipString() {
        while at < text.count {
            switch text[at] {
            case "\"":
                at += 1
                return
            case "\\" where scalar(at + 1) == "(":
                at += 2
                places.append(
                    Place(kind: .interpolation, beganAtDocument: isAtDocument, isAtDocument: isAtDocument))
                return
            case "\\": at += 2
            default: at += 1
            }
        }
    }

    private mutating func readName() -> String? {
        var name = ""
        while let scalar = scalar(at), Self.isPartOfName(scalar, isFirst: name.isEmpty) {
            name.unicodeScalars.append(scalar)
            at += 1
        }
        return name.isEmpty ? nil : name
    }

    private static func isPartOfName(_ scalar: Unicode.Scalar, isFirst: Bool) -> Bool {
        guard scalar.isASCII else { return false }
        return scalar == "_" || scalar.properties.isAlphabetic || !isFirst && ("0"..."9").contains(scalar)
    }

    /// Functions that pass their own input to their arguments.
    private static let transparent: Set<String> = [
        "select", "has", "test", "match", "capture", "startswith", "endswith", "contains", "inside", "index", "rindex",
        "ltrimstr", "rtrimstr", "split", "join", "range", "error", "sub", "gsub", "getpath", "IN", "not", "and", "or",
        "if", "then", "else", "elif", "end",
    ]

    private mutating func take(_ name: String) {
        switch name {
        case "if": places.append(Place(kind: .condition, beganAtDocument: isAtDocument, isAtDocument: isAtDocument))
        case "then", "elif", "else":
            places[places.count - 1].isAtDocument = places[places.count - 1].beganAtDocument
        case "end": if places.count > 1 { places.removeLast() }
        case "as": takeBinding()
        case "now": readsTime = true
        // A definition may be used elsewhere, so nothing after it is certain.
        case "def": at = text.count
        default: nextGroupChangesInput = next == "(" && !Self.transparent.contains(name)
        }
    }

    /// The next character that is not white space.
    private var next: Unicode.Scalar? { text[min(at, text.count)...].first { !$0.properties.isWhitespace } }

    private mutating func takeBinding() {
        while let scalar = scalar(at), scalar.properties.isWhitespace { at += 1 }
        guard scalar(at) == "$" else {
            at = text.count
            return
        }
        at += 1
        _ = readName()
        nextPipeBindsVariable = next == "|"
        nextGroupChangesInput = next == "("
    }
}

// MARK: - Paths

extension ProgramReading {
    private mutating func readVariable() {
        at += 1
        guard let name = readName() else { return }
        let steps = readSteps()
        if name == "now" { readsTime = true }
        guard ["now", "change", "match"].contains(name) else { return }
        if !variables.contains(where: { $0.name == name && $0.path == steps }) { variables.append((name, steps)) }
    }

    private mutating func readPath() {
        // `(.a).b`, `.[].b`: not a path from the document.
        let continues = at > 0 && [")", "]", "}", "?", "\""].contains(text[at - 1])
        if scalar(at + 1) == "." {
            at += 2
            return
        }
        var steps: [Step] = []
        if let step = readStep() { steps = [step] + readSteps() } else { at += 1 }
        guard !continues, isAtDocument, !steps.isEmpty, !paths.contains(steps) else { return }
        paths.append(steps)
    }

    private mutating func readSteps() -> [Step] {
        var steps: [Step] = []
        while let step = readStep() { steps.append(step) }
        return steps
    }

    /// Reads `.name`, `."name"`, `.["name"]`, `["name"]` or `[0]`. Returns nil and reads nothing for anything else.
    private mutating func readStep() -> Step? {
        let start = at
        while scalar(at) == "?" { at += 1 }
        let hasDot = scalar(at) == "."
        if hasDot { at += 1 }
        if hasDot, let name = readName() { return .member(name) }
        if hasDot, let name = readLiteral() { return .member(name) }
        if scalar(at) == "[" {
            at += 1
            let step = readLiteral().map { Step.member($0) } ?? readNumber().map { Step.element($0) }
            if let step, scalar(at) == "]" {
                at += 1
                return step
            }
        }
        at = start
        return nil
    }

    /// Reads a string without escapes.
    private mutating func readLiteral() -> String? {
        guard scalar(at) == "\"", let end = text[(at + 1)...].firstIndex(of: "\"") else { return nil }
        let content = text[(at + 1)..<end]
        guard !content.contains("\\") else { return nil }
        at = end + 1
        var name = ""
        name.unicodeScalars.append(contentsOf: content)
        return name
    }

    private mutating func readNumber() -> Int? {
        let digits = text[min(at, text.count)...].prefix { ("0"..."9").contains($0) }
        var number = ""
        number.unicodeScalars.append(contentsOf: digits)
        guard let value = Int(number) else { return nil }
        at += digits.count
        return value
    }
}
