/// The expected result of a case: usually that recorded from Sync Gateway 4.1.1, and those of kinds that differ.
struct Expected<Value: Sendable>: Sendable {
    /// The result for some kinds, and the reason for the difference.
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
