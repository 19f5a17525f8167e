internal import LosslessJSON

/// Reads the JSON value at the beginning of a window, in however many pieces it arrives.
struct ValueReader {
    enum Outcome {
        case value(JSONTape, end: Int)
        /// For a value cut off by the end of the input, the offset is the window's end.
        case error(JSONError)
    }

    /// The most bytes of a value.
    let limit: Int
    /// Number of nodes of the last value: documents of one input are similar.
    private var expectedNodes = 32

    init(limit: Int) { self.limit = limit }

    /// The result does not depend on how the value is split into pieces.
    mutating func read(_ window: inout TextWindow) -> Outcome {
        var frame: JSONFrame?
        var tape = JSONTape(minimumCapacity: expectedNodes)
        while true {
            let scanned = min(window.count, limit)
            do throws(JSONError) {
                let end = try window.scan(into: &tape, upTo: limit)
                // A number may continue in the next piece.
                if end < scanned || tape.kind(of: 0) >= .string || !window.fill() {
                    expectedNodes = min(tape.count, 1 << 16)
                    return .value(tape, end: end)
                }
                tape.removeAll()
            } catch {
                guard error.reason == .unexpectedEnd else { return .error(error) }
                guard scanned < limit else { return .error(JSONError(.tooLong(limit: limit), at: limit)) }
                var known = frame ?? JSONFrame(start: 0, endsAtBrokenString: true)
                guard Self.waitForEnd(&known, in: &window, scanned: scanned, limit: limit) else {
                    return .error(JSONError(.unexpectedEnd, at: window.count))
                }
                frame = known
            }
        }
    }

    /// Reads until the value may be complete, or until the window has doubled, so that an error in it is found in time.
    ///
    /// - Returns: False at the end of the input.
    private static func waitForEnd(
        _ frame: inout JSONFrame, in window: inout TextWindow, scanned: Int, limit: Int
    ) -> Bool {
        guard window.fill() else { return false }
        while true {
            if window.count >= min(2 * scanned, limit) { return true }
            if window.withText({ frame.findEnd(in: $0) != nil }) { return true }
            guard window.fill() else { return true }
        }
    }
}
