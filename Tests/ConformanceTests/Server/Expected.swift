/// What a case expects: the usual, which is what Sync Gateway 4.1.1 was recorded to do, and what other kinds do instead.
struct Expected<Value: Sendable>: Sendable {
    /// What some kinds do otherwise, and why.
    struct Difference: Sendable {
        let kinds: Set<Kind>
        let value: Value
        let reason: String

        init(_ kinds: Kind..., does value: Value, because reason: String) {
            self.kinds = Set(kinds)
            self.value = value
            self.reason = reason
        }
    }

    let usual: Value
    let differences: [Difference]

    init(_ usual: Value, _ differences: Difference...) {
        self.usual = usual
        self.differences = differences
    }

    subscript(kind: Kind) -> Value {
        differences.first { $0.kinds.contains(kind) }?.value ?? usual
    }
}
