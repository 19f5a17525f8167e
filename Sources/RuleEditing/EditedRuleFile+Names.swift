internal import Rules

// What the text names, also if it is invalid elsewhere.

extension EditedRuleFile {
    var isJSON: Bool { path.hasSuffix(".json") }

    /// Whether the text is a rule file, and not another file in YAML or JSON, even if it has errors.
    package var hasRules: Bool {
        let names = memberNames
        return names.contains("rules") && (names.contains("version") || mayBeRules)
            && names.isDisjoint(with: Self.foreignNames)
    }

    /// Whether the text may be, or may become, a rule file: it has no other names at its top level.
    package var mayBeRules: Bool {
        let names = memberNames
        return names.isSubset(of: schema.memberNames) || names.contains("rules") && names.contains("version")
    }

    /// Names of configuration files, and of Kubernetes.
    private static let foreignNames: Set<String> = ["bots", "gateway", "apiVersion"]

    /// The names at the top level, except one that may be incomplete.
    private var memberNames: Set<String> {
        guard outline[0].content == .object else { return [] }
        return Set(outline[0].children.filter { outline[$0].hasColon }.compactMap { outline[$0].name })
    }

    var schema: SchemaView { SchemaView(file: context.schema, isMapping: outline.isMapping(lines.bytes)) }

    /// The text of a scalar, without its quotes.
    func text(of node: Int) -> String { OutlineText.unquoted(lines.bytes[outline[node].range]) }

    /// The rules that have a name, with the node of the name.
    var ruleNames: [(name: String, node: Int)] {
        outline.elements(of: "rules").compactMap { rule in
            guard let name = outline.member("name", of: rule), outline[name].content == .scalar else { return nil }
            return (text(of: name), name)
        }
    }

    /// The names of members in selectors and documents of the file, sorted.
    var documentMembers: [String] {
        var names: Set<String> = []
        for test in outline.elements(of: "tests") {
            for name in ["given", "before"] { addNames(of: outline.member(name, of: test), to: &names) }
        }
        for rule in outline.elements(of: "rules") {
            for name in ["when", "unless"] { addNames(of: outline.member(name, of: rule), to: &names) }
        }
        return names.filter { !$0.hasPrefix("$") && !$0.isEmpty }.sorted()
    }

    private func addNames(of object: Int?, to names: inout Set<String>) {
        guard let object, names.count < 200 else { return }
        for child in outline[object].children where outline[child].hasColon {
            if let name = outline[child].name { names.insert(name) }
        }
    }

    // MARK: - Files

    struct Entry {
        let name: String
        let isFolder: Bool
    }

    /// At most this many names of a folder are offered.
    private static let entryLimit = 1000

    /// The path of a file that the text names.
    func resolved(_ name: String, in folder: String? = nil) -> String {
        RulePath.join(RulePath.folder(of: path), RulePath.join(folder, name))
    }

    /// The names in a folder that is relative to this file. Empty if there is no such folder.
    func entries(of folder: String, in base: String?) -> [Entry] {
        let place = resolved(folder, in: base)
        guard let names = try? FileBytes.names(inFolder: place.isEmpty ? "." : place) else { return [] }
        return names.prefix(Self.entryLimit).map { name in
            Entry(name: name, isFolder: (try? FileBytes.kind(of: RulePath.join(place, name))) == .folder)
        }
    }
}
