internal import HTTPServing
internal import NIOConcurrencyHelpers

extension Answer {
    /// An answer with a known length. Sent whole if it is short or already in memory, otherwise piece by piece.
    ///
    /// - Throws: ``RequestError`` 404 if a content was removed since the body was made.
    init(fields: [HTTPField], _ body: BodyParts, from store: Store) throws {
        self.init(status: 200, fields: fields)
        var pieces = BodyPieces(body, from: store)
        if body.length <= BodyPieces.limit || body.loadedLength == body.length {
            self.body = .whole(try pieces.whole(length: body.length))
            return
        }
        length = body.length
        // Taken out when it is sent, so that the answer does not keep what was sent.
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

    /// Sends all pieces; what is loaded but not sent is counted as kept.
    consuming func send(_ send: Answer.Send, counting kept: KeptBytes) async throws {
        var pieces = self
        while let piece = try pieces.next() {
            try await kept.counting(pieces.loadedLength) { try await send(piece) }
        }
    }
}
