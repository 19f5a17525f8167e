/// Finds uses of `$match.NAME` without a group of this name in the patterns of the rule's `when`.
struct GroupCheck {
    private let groups: [String]
    /// Groups in places that don't count, such as `$not`.
    private let others: Set<String>

    init(_ rule: Rule) {
        groups = MatchedGroups.names(of: rule.when).sorted()
        let patterns = rule.definition.source.member("when").map { SelectorOutline($0).leaves } ?? []
        others = Set(
            patterns.filter { $0.operatorName == "$regex" }.compactMap { $0.argument.text }
                .compactMap { try? RegularExpression($0) }.flatMap(\.groupNames))
    }

    /// - Parameter isRelated: Whether the program is for related documents.
    func messages(_ program: String, isRelated: Bool) -> [String] {
        let names = VariablePaths.of("$match", in: program).compactMap(\.first)
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted && (isRelated || !groups.contains($0)) }.map { name in
            message(DisplayText.plain(name), isRelated: isRelated)
        }
    }

    private func message(_ name: String, isRelated: Bool) -> String {
        if isRelated {
            return
                "'$match' is empty in the 'then' of related; write the text into the document first, and read it with "
                + "$source"
        }
        if others.contains(name) {
            return
                "$match.\(name) is always null: groups inside $not, $nor, $elemMatch and the like don't count; test the "
                + "field itself with $regex"
        }
        guard !groups.isEmpty else {
            return "$match.\(name) is always null: no $regex in 'when' has a named group; write (?<\(name)>…) in it"
        }
        return "$match.\(name) is always null: no $regex in 'when' has this group"
            + NearestName.advice(NearestName.of(name, among: groups), among: groups, as: "groups")
    }
}
