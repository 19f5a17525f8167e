/// The changes of the actions of a rule.
struct ActionMutations {
    private(set) var all: [Mutation] = []
    private let source: SourceNode
    private var point = 0
    /// The keys of the current action that are not changed.
    private var untested: Set<String> = []

    /// - Parameter folder: Of the rule file.
    init(_ rule: Rule, _ covered: CoveredRule, folder: String?) {
        source = rule.definition.source
        for (index, placed) in rule.locatedSteps.enumerated() {
            point = covered.actionPoints[index]
            // Another operation of a patch is another patch.
            untested = type(of: placed.step.action).untestedKeys.union(["op"])
            let path: [SourceStep] = [.member("then"), .element(index)]
            add("without the action \(placed.step.action.name)", covered.points[point].position, removing: path)
            let argument = path + [.member(placed.step.action.name)]
            visit(placed.argument, at: argument)
            if placed.step.action is AttachAction { replaceFile(placed.argument, at: argument, folder) }
        }
    }

    /// Larger files are not attached in place of another one.
    private static let fileLimit = 4 << 20

    /// Attaches another file of the same folder. A name that does not exist would be no valid rule.
    private mutating func replaceFile(_ argument: SourceNode, at path: [SourceStep], _ folder: String?) {
        guard let node = argument.member("file"), let name = node.text, !node.isComputed else { return }
        let parent = name.lastIndex(of: "/").map { String(name[...$0]) } ?? ""
        let place = RulePath.join(folder, RulePath.join(argument.member("folder")?.text, parent))
        let own = String(name.dropFirst(parent.count))
        let ending = own.split(separator: ".").last ?? ""
        let names = (try? FileBytes.names(inFolder: place.isEmpty ? "." : place)) ?? []
        let other = names.sorted().first { other in
            guard other != own, !other.hasPrefix("."), other.hasSuffix(".\(ending)") else { return false }
            return (try? FileBytes.version(of: RulePath.join(place, other)))?.size ?? .max <= Self.fileLimit
        }
        guard let other else { return }
        let changed = SourceNode(content: .string(parent + other), position: node.position)
        add(
            "`\(FlowText.excerpt(changed))` instead of `\(FlowText.excerpt(node))`", node.position,
            source.replacing((path + [.member("file")])[...], with: changed))
    }

    /// Keys whose omission means a default. Only their values are changed.
    private static let optional: Set<String> = ["content_type", "if_exists", "method", "keyspace", "type"]

    private mutating func visit(_ node: SourceNode, at path: [SourceStep]) {
        switch node.content {
        case .object(let members):
            if node.isComputed { return }
            for member in members where !untested.contains(member.name) {
                let inner = path + [.member(member.name)]
                if members.count > 1, !Self.optional.contains(member.name) {
                    add("without `\(DisplayText.plain(member.name))`", member.position, removing: inner)
                }
                visit(member.value, at: inner)
            }
        case .list(let elements):
            for (index, element) in elements.enumerated() {
                let inner = path + [.element(index)]
                if elements.count > 1 {
                    add("without `\(FlowText.excerpt(element))`", element.position, removing: inner)
                }
                visit(element, at: inner)
            }
        case .null, .bool, .number, .string:
            guard let changed = Self.other(node, path) else { return }
            add(
                "`\(FlowText.excerpt(changed))` instead of `\(FlowText.excerpt(node))`", node.position,
                source.replacing(path[...], with: changed))
        }
    }

    private mutating func add(_ change: String, _ position: SourcePosition, removing path: [SourceStep]) {
        guard let changed = source.removing(path[...], prunes: false) else { return }
        add(change, position, changed)
    }

    private mutating func add(_ change: String, _ position: SourcePosition, _ source: SourceNode) {
        all.append(Mutation(position: position, change: change, source: source, point: point))
    }

    private static let choices = [
        "keep": "replace", "replace": "keep", "merge": "replace", "POST": "PUT", "PUT": "POST", "PATCH": "POST",
    ]

    /// Another value of the same type. Nil for null.
    private static func other(_ node: SourceNode, _ path: [SourceStep]) -> SourceNode? {
        let content: SourceNode.Content
        switch node.content {
        case .bool(let value): content = .bool(!value)
        case .number(let text):
            guard let number = Int(text), number < Int.max else { return nil }
            content = .number(String(number + 1))
        case .string(let text):
            let isChoice = [.member("if_exists"), .member("method")].contains(path.last)
            content = .string(isChoice ? choices[text] ?? text : text + "x")
        case .null, .list, .object: return nil
        }
        return SourceNode(content: content, position: node.position)
    }
}

extension FlowText {
    /// The beginning of a value, for messages.
    static func excerpt(_ node: SourceNode) -> String { DisplayText.plain(text(node)) }
}
