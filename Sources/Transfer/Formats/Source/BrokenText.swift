internal import LosslessJSON

/// Tells where a broken document ends and the next may begin.
protocol BrokenTextEnd {
    /// Looks at the next byte.
    ///
    /// - Returns: How many of the bytes looked at last belong to the broken text no more; nil if it goes on.
    mutating func look(at byte: UInt8) -> Int?
    /// How many of the bytes looked at last may turn out not to belong to it.
    var doubtful: Int { get }
}

/// What is wrong, and where: an offset in a window.
struct Breakage {
    let reason: SourceFault.Reason
    let offset: Int

    init(_ reason: SourceFault.Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    init(_ fault: JSONFault) { self.init(.json(fault.reason), at: fault.offset) }
}

/// Takes the text of a broken document out of a window, however long it is.
struct BrokenText {
    /// Bytes of a broken document that are kept, for people to mend it.
    static let keptLimit = 1 << 20

    private var kept: [UInt8] = []
    private var length = 0

    /// - Parameter breakage: Within what the window holds.
    /// - Returns: The fault, with the window behind its text, and whether that is the end of the input and not one that
    ///   `end` found.
    static func skip(
        _ window: inout TextWindow, _ breakage: Breakage, to end: inout some BrokenTextEnd
    ) -> (fault: SourceFault, isAtEnd: Bool) {
        let start = window.place
        let place = window.place(of: breakage.shownOffset(in: window))
        var text = BrokenText()
        let isFound = text.skip(&window, to: &end)
        // What the scanner complains about may be that the next document follows: then this one was cut off.
        let isCutOff = isFound && text.length < breakage.offset
        let trimmed = text.trimmed
        let fault = SourceFault(
            reason: isCutOff || breakage.isLineBreak ? .json(.unexpectedEnd) : breakage.reason,
            place: isCutOff ? start.advanced(over: trimmed) : place, start: start, text: trimmed,
            isCut: text.length > text.kept.count)
        return (fault, !isFound)
    }

    /// Returns whether the end was found.
    private mutating func skip(_ window: inout TextWindow, to end: inout some BrokenTextEnd) -> Bool {
        var looked = 0
        while true {
            while looked < window.count {
                let byte = window[looked]
                looked += 1
                guard let behind = end.look(at: byte) else { continue }
                keep(looked - behind, of: &window)
                return true
            }
            let sure = max(looked - end.doubtful, 0)
            keep(sure, of: &window)
            looked -= sure
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

extension Breakage {
    /// A string can't go on behind its line.
    fileprivate var isLineBreak: Bool {
        reason == .json(.controlCharacterInString(0x0A)) || reason == .json(.controlCharacterInString(0x0D))
    }

    /// What ends too early ends behind its last character, not lines below.
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
