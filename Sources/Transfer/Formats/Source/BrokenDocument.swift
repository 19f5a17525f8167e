internal import LosslessJSON

/// Finds where a broken document ends and the next may begin.
protocol BrokenTextScanner {
    /// Inspects the next byte.
    ///
    /// - Returns: Nil if the broken text continues; otherwise how many of the last bytes no longer belong to it.
    mutating func scan(_ byte: UInt8) -> Int?
    /// How many of the last bytes may turn out to belong to the next document.
    var undecidedCount: Int { get }
}

/// What is wrong, and its offset in a window.
struct SyntaxProblem {
    let reason: SourceDocumentError.Reason
    let offset: Int

    init(_ reason: SourceDocumentError.Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    init(_ error: JSONError) { self.init(.json(error.reason), at: error.offset) }
}

/// Consumes the text of a broken document of any length from a window.
struct BrokenDocument {
    /// The maximum number of bytes kept of a broken document, so that a person can repair it.
    static let keptLimit = 1 << 20

    private var kept: [UInt8] = []
    private var length = 0

    /// - Parameter problem: Must lie within the window.
    /// - Returns: The error, and whether the input ended first. The window is then after the text.
    static func skip(
        _ window: inout TextWindow, _ problem: SyntaxProblem, to end: inout some BrokenTextScanner
    ) -> (error: SourceDocumentError, isAtEnd: Bool) {
        let start = window.place
        let place = window.place(of: problem.shownOffset(in: window))
        var text = BrokenDocument()
        let isFound = text.skip(&window, to: &end)
        // If the scanner stopped at the start of the next document, this one was truncated.
        let isCutOff = isFound && text.length < problem.offset
        let trimmed = text.trimmed
        let reason = isCutOff || problem.isLineBreak ? .json(.unexpectedEnd) : problem.reason
        let error = SourceDocumentError(
            reason: reason, place: isCutOff ? start.advanced(over: trimmed) : place, start: start, text: trimmed,
            isTruncated: text.length > text.kept.count,
            remedy: SyntaxProblem(reason, at: problem.offset).remedy(in: trimmed, from: start))
        return (error, !isFound)
    }

    /// Returns whether the end was found.
    private mutating func skip(_ window: inout TextWindow, to end: inout some BrokenTextScanner) -> Bool {
        var scannedCount = 0
        while true {
            while scannedCount < window.count {
                let byte = window[scannedCount]
                scannedCount += 1
                guard let behind = end.scan(byte) else { continue }
                keep(scannedCount - behind, of: &window)
                return true
            }
            let decidedCount = max(scannedCount - end.undecidedCount, 0)
            keep(decidedCount, of: &window)
            scannedCount -= decidedCount
            guard window.fill() else {
                keep(window.count, of: &window)
                return false
            }
        }
    }

    private mutating func keep(_ count: Int, of window: inout TextWindow) {
        length += count
        kept.append(contentsOf: window.slice(0..<min(count, Self.keptLimit - kept.count)))
        window.drop(count)
    }

    private var trimmed: [UInt8] {
        guard length == kept.count else { return kept }
        return Array(kept.prefix((kept.lastIndex { !$0.isJSONWhitespace } ?? -1) + 1))
    }
}

extension SyntaxProblem {
    /// Whether a string was cut off by a line break.
    fileprivate var isLineBreak: Bool {
        reason == .json(.controlCharacterInString(0x0A)) || reason == .json(.controlCharacterInString(0x0D))
    }

    /// What to do, unless the reason says it.
    ///
    /// - Parameter text: The broken text, which begins at `start` in the input.
    fileprivate func remedy(in text: [UInt8], from start: TextPlace) -> String? {
        guard case .json(let reason) = reason else { return nil }
        if let remedy = JSONMistake.remedy(for: JSONError(reason, at: offset), in: text) { return remedy }
        if offset == 0, reason == .unexpectedByte(UInt8(ascii: "]"), expected: .value) {
            return "remove the comma before it"
        }
        guard offset == 0, start.line == 1, text.contains(where: ",;\t".utf8.contains) else { return nil }
        return "if the file is a table, read it with --format csv"
    }

    /// If the text ends too early, the position right after its last character, not several lines below.
    fileprivate func shownOffset(in window: borrowing TextWindow) -> Int {
        var shown = offset
        guard reason == .json(.unexpectedEnd) else { return shown }
        while shown > 0, window[shown - 1].isJSONWhitespace { shown -= 1 }
        return shown
    }
}

extension UInt8 {
    var isJSONWhitespace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
