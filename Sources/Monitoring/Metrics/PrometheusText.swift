/// Writes Prometheus' text format.
///
/// - Note: Source: Prometheus, "Exposition formats", text format 0.0.4.
package struct PrometheusText {
    /// `Content-Type` of the text.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var bytes: [UInt8] = []

    /// The lines before the series of a family.
    mutating func begin(_ family: MetricFamily) {
        let name = Self.name(family.name)
        write("# HELP \(name) \(Self.escaped(family.help, quote: false))\n")
        write("# TYPE \(name) \(family.kind.name)\n")
    }

    mutating func add(_ name: String, _ labels: Labels, _ value: Series.Value) {
        let name = Self.name(name)
        let labels = labels.all.map { (Self.name($0.name), $0.value) }
        switch value {
        case .single(let number): line(name, labels, number)
        case .histogram(let bounds, let counts, let sum):
            var total = 0
            for (bound, count) in zip(bounds + [.infinity], counts) {
                total += count
                line(name + "_bucket", labels + [("le", Self.text(bound))], Double(total))
            }
            line(name + "_sum", labels, sum)
            line(name + "_count", labels, Double(total))
        }
    }

    private mutating func line(_ name: String, _ labels: [(String, String)], _ number: Double) {
        write(name)
        if !labels.isEmpty {
            write("{" + labels.map { "\($0)=\"\(Self.escaped($1, quote: true))\"" }.joined(separator: ",") + "}")
        }
        write(" \(Self.text(number))\n")
    }

    private mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Whole numbers are written without a fraction if a double holds them exactly.
    private static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: number).flatMap { $0.magnitude < 1 << 53 ? String($0) : nil } ?? String(number)
    }

    private static func escaped(_ text: String, quote: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quote: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Replaces characters that are not allowed in names by `_`.
    private static func name(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isAllowed =
                switch scalar {
                case "a"..."z", "A"..."Z", "_": true
                case "0"..."9": !scalars.isEmpty
                default: false
                }
            scalars.append(isAllowed ? scalar : "_")
        }
        return String(scalars)
    }
}
