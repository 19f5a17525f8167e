extension Duration {
    /// Human-readable: `0.034 s`, `300 s`.
    package var text: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        guard milliseconds % 1000 != 0 else { return "\(milliseconds / 1000) s" }
        let fraction = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction + " s"
    }
}
