internal import LosslessJSON

/// The rules and tests of one file, as far as they are readable.
struct RuleFile {
    /// `$schema` is for editors: JSON has no comments that could name the schema.
    private static let keys = [
        "version", "kind", "slurp", "otherwise", "every", "time_zone", "rules", "tests", "$schema",
    ]
    private static let version = "1"
    /// The maximum number of bytes of a rule file.
    static let lengthLimit = JSONLimits.files.length

    let path: String
    private(set) var kind = RuleFileKind.rules
    /// The position of `kind`, or where it would be.
    private(set) var kindPosition = SourcePosition.start
    /// The names of the variables (`$NAME`) that hold the documents of other files for a mapping's programs.
    private(set) var slurps: [SlurpName] = []
    /// What a mapping does with documents on which no rule fires, and the position of `otherwise`. Nil without
    /// `otherwise`.
    private(set) var otherwise: (value: UnmatchedDocuments, position: SourcePosition)?
    /// When its rules run over all documents. Nil: the rules are for changes.
    private(set) var schedule: RuleSchedule?
    private(set) var rules: [Rule] = []
    /// The position of the list of rules.
    private(set) var rulesPosition = SourcePosition.start
    private(set) var tests: [RuleTest] = []
    private(set) var errors: [RuleFileError] = []
    /// Whether it is YAML or JSON, so that its kind is known.
    private(set) var isReadable = false

    /// - Parameters:
    ///   - path: The path as given; errors begin with it. `.json` is read as JSON, everything else as YAML.
    ///   - bytes: The content of the file.
    ///   - shared: Shared by the files of a rule set, whose programs are compiled later.
    init(path: String, bytes: [UInt8], shared: RuleReading.Shared = RuleReading.Shared()) {
        self.path = path
        let reading = RuleReading(path: path, shared: shared)
        if !path.hasSuffix(".json") { reading.yaml = bytes }
        if let root = SourceFile.read(path: path, bytes, reading.errors) {
            isReadable = true
            read(root, reading)
        }
        errors = reading.errors.errors
    }

    private mutating func read(_ root: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(root, "a rule file", known: Self.keys, errors: errors) else { return }
        if let node = object.required("version", "begin the file with 'version: 1'") {
            checkVersion(node, errors)
        }
        readKind(object)
        readOtherwise(object)
        schedule = RuleSchedule(object, kind)
        reading.isScheduled = schedule != nil
        reading.kind = kind
        reading.variables = slurps.map(\.text)
        if let node = object.required("rules", "add 'rules:' with a list of rules") {
            rulesPosition = node.position
            rules = Self.list(node, "'rules' must be a list of rules", errors).compactMap { Rule($0, reading) }
        }
        if errors.errors.isEmpty { reading.ruleNames = rules.map(\.name) }
        if let node = object.node("tests") {
            tests = Self.list(node, "'tests' must be a list of tests", errors).compactMap { RuleTest($0, reading) }
        }
    }

    private func checkVersion(_ node: SourceNode, _ errors: SourceErrors) {
        switch node.content {
        case .number(Self.version): return
        case .string(let text) where text.trimmed == Self.version[...]:
            errors.report(
                at: node.position, "'version' must be a number, not text; remove the quotes: version: \(Self.version)")
        default:
            errors.report(at: node.position, "this version of changebot supports only rule files with 'version: 1'")
        }
    }

    private mutating func readKind(_ object: SourceObject) {
        if let node = object.node("kind") {
            kindPosition = node.position
            if case .string("mapping") = node.content {
                kind = .mapping
            } else {
                object.errors.report(
                    at: node.position, "'kind' can only be mapping; remove it if the rules are for changes")
            }
        }
        guard let node = object.node("slurp") else { return }
        guard kind == .mapping else {
            object.errors.report(at: node.position, "only mappings have 'slurp'; write 'kind: mapping', or remove it")
            return
        }
        slurps = SlurpName.read(node, object.errors)
    }

    private mutating func readOtherwise(_ object: SourceObject) {
        guard let node = object.node("otherwise") else { return }
        guard kind == .mapping else {
            object.errors.report(
                at: node.position, "only mappings have 'otherwise'; write 'kind: mapping', or remove it")
            return
        }
        otherwise = UnmatchedDocuments.read(node, object.errors).map { ($0, node.position) }
    }

    private static func list(_ node: SourceNode, _ demand: String, _ errors: SourceErrors) -> [SourceNode] {
        guard case .list(let elements) = node.content else {
            errors.reportKind(of: node, demand, remedy: "begin each with '- name:'")
            return []
        }
        return elements
    }
}
