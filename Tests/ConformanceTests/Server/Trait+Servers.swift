import Testing

extension Trait where Self == ConditionTrait {
    /// Runs a test only on servers for which the condition holds. On others, the test is reported as skipped, with the
    /// reason.
    static func servers(
        _ reason: Comment, where condition: @escaping @Sendable (ConformanceServer) -> Bool
    ) -> Self {
        .enabled(reason) { condition(try await .shared()) }
    }

    /// The administrator's port of a Sync Gateway ignores users and passwords.
    static var serversThatCheckPasswords: Self {
        .servers("the administrator's port checks no passwords") { !$0.isAdministration }
    }

    static var serversWithUser: Self {
        .servers("CHANGEBOT_TEST_GATEWAY_USER names no user") { $0.user != nil && !$0.isAdministration }
    }
}
