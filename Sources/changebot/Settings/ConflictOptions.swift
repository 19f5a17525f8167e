internal import ArgumentParser
internal import Rules

/// `--policy` and `--date-member`.
struct ConflictOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How to resolve conflicts: POLICY for all documents, TYPE=POLICY for one type. Can be repeated.",
            valueName: "policy"))
    var policy: [String] = []

    @Option(
        help: ArgumentHelp(
            "The member with the date of the last update: ISO 8601 or a number. Default: updatedAt.",
            valueName: "member"))
    var dateMember: String?

    /// The policies and their date member as text; empty without policies.
    func identity(_ environment: Environment) -> [String] {
        texts(environment).map { [date(environment)] + $0 } ?? []
    }

    private func texts(_ environment: Environment) -> [String]? { environment.values(policy, "policy") }

    private func date(_ environment: Environment) -> String {
        dateMember ?? environment["date-member"] ?? "updatedAt"
    }

    /// Nil without `--policy`.
    ///
    /// - Parameter filter: The value of `--selector`: the policies decide design documents only if it names them.
    /// - Throws: ``CommandError`` with 64.
    func policies(_ filter: DocumentFilter?, _ environment: Environment) throws(CommandError) -> ConflictPolicies? {
        guard let texts = texts(environment) else { return nil }
        guard !date(environment).isEmpty else {
            throw CommandError(.usage, "--date-member is empty; write the name of a member, or remove it")
        }
        do throws(ConflictPolicyError) {
            var policies = try ConflictPolicies(texts, dateMember: date(environment))
            policies.decideDesignDocuments = filter?.namesDesignDocuments ?? false
            return policies
        } catch {
            throw CommandError(.usage, "--policy: \(error)")
        }
    }
}
