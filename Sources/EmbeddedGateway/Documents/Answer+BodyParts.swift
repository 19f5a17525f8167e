internal import HTTPServing
internal import NIOConcurrencyHelpers

extension Answer {
    /// An answer with a known length. Sent as a whole if it is short or already in memory, otherwise in pieces.
    ///
    /// - Throws: ``RequestError`` 404 if a content was removed after the body was created.
    init(fields: [HTTPField], _ body: BodyParts, from store: Store) throws {
        self.init(status: 200, fields: fields)
        var pieces = BodyPieces(body, from: store)
        if body.length <= BodyPieces.limit || body.loadedLength == body.length {
            self.body = .whole(try pieces.whole(length: body.length))
            return
        }
        length = body.length
        // Removed when it is sent, so that the answer does not keep it in memory.
        let waiting = NIOLockedValueBox<BodyPieces?>(pieces)
        self.body = .streamed { [kept] send in
            let pieces = waiting.withLockedValue { waiting in
                defer { waiting = nil }
                return waiting
            }
            guard let pieces else { return }
            try await pieces.send(send, counting: kept)
        }
    }
}

extension BodyPieces {
    fileprivate mutating func whole(length: Int) throws -> [UInt8] {
        do {
            var whole = try next() ?? []
            whole.reserveCapacity(length)
            while let piece = try next() { whole += piece }
            return whole
        } catch is ConnectionCut {
            throw RequestError.missing
        }
    }

    /// Sends all pieces. Data that is loaded but not yet sent is counted in `kept`.
    consuming func send(_ send: Answer.Send, counting kept: BufferedBytes) async throws {
        var pieces = self
        while let piece = try pieces.next() {
            try await kept.counting(pieces.loadedLength) { try await send(piece) }
        }
    }
}
