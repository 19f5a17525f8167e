internal import NIOConcurrencyHelpers

/// The principals of a database in memory, by key, as of the last commit.
final class PrincipalDirectory: Sendable {
    private let principals = NIOLockedValueBox<[String: Principal]>([:])

    var all: [String: Principal] { principals.withLockedValue { $0 } }

    subscript(key: String) -> Principal? { principals.withLockedValue { $0[key] } }

    func replace(with all: [String: Principal]) { principals.withLockedValue { $0 = all } }

    func update(_ changed: [String: Principal]) {
        principals.withLockedValue { $0.merge(changed) { _, new in new } }
    }
}
