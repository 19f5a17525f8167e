internal import Encodings
package import LosslessJSON

/// An effect outside the database. It is carried out before the changed document is written.
package struct OutsideEffect: Effect {
    /// What to do.
    package enum Kind: Sendable {
        case emit(EmitEffect)
        case webhook(WebhookEffect)
    }

    package static let kind = EffectKind.outside
    package let origin: EffectOrigin
    package let kind: Kind

    /// A rule that fires again sends only its later effects.
    package func isDropped(for later: Effects) -> Bool { true }

    package var byteCount: Int {
        switch kind {
        case .emit(let emit): emit.line.byteCount
        case .webhook(let effect): effect.body.byteCount
        }
    }

    /// The name of its action, as in rule files.
    package var action: String {
        switch kind {
        case .emit: "emit"
        case .webhook: "webhook"
        }
    }

    /// Whether its result is written into the changed document.
    package var changesDocument: Bool {
        switch kind {
        case .emit: false
        case .webhook(let effect): effect.response != nil
        }
    }
}

extension OutsideEffect {
    package func write(to writer: inout JSONWriter) {
        writer.member("action", string: action)
        switch kind {
        case .emit(let emit):
            writer.member("file", string: emit.file)
            writer.member("line", raw: emit.bytes(nil))
        case .webhook(let effect): effect.write(to: &writer)
        }
    }

    /// A short description for people: `emit to ../out/orders.ndjson`.
    package var title: String {
        switch kind {
        case .emit(let emit): "emit to \(emit.target == .standardOutput ? "stdout" : emit.file)"
        case .webhook(let effect): "webhook \(effect.method.rawValue) \(effect.url)"
        }
    }

    /// What is sent. Nil if it is not JSON.
    package var content: JSONText? {
        switch kind {
        case .emit(let emit): try? JSONText(emit.bytes(nil))
        case .webhook(let effect): effect.content
        }
    }
}

/// The place in the rules that an effect comes from.
package struct EffectOrigin: Hashable, Sendable {
    /// The index of the rule in ``RuleSet/names``.
    package let rule: Int
    /// The place of the action in the rule's `then`.
    package let step: Int
    /// The place of the element, if the action has `for_each`.
    package let element: Int?
}

/// The unique key of an effect, by which a receiver recognizes a repeat after a crash.
package enum EffectKey {
    /// SHA-256, in lowercase hexadecimal, of a JSON list: database, document, revision, rule, action and its place.
    ///
    /// A rule with `changed`, `enter` or `leave` fires once for each edge, so the edge replaces the revision. The key then
    /// stays the same if the document changes after a crash between the effect and its record.
    ///
    /// A rule with `at:` fires once for each time of a document, so that time replaces the revision. The key then stays
    /// the same after a crash between the write of the document and the record that the rule has fired. A rule of a
    /// file with `every:` acts on one revision many times, so the time is added as a further element.
    ///
    /// - Parameters:
    ///   - database: Identifies the database.
    ///   - document: The document before the rules ran, with `_id` and `_rev`.
    ///   - rule: The rule's name.
    ///   - action: The action's name.
    ///   - time: The time for which the rule fired: ``Decision/firedTimes``. Nil without `at:`.
    ///   - edge: The edge for which the rule fired: ``Decision/firedEdges``. Nil without `changed`, `enter` or `leave`.
    ///   - passTime: The time of the pass over all documents. Nil without `every:`.
    package static func text(
        database: String, document: JSONText, rule: String, action: String, _ origin: EffectOrigin,
        time: Int? = nil, edge: Edge? = nil, passTime: Int? = nil
    ) -> String {
        var writer = JSONWriter()
        writer.array { writer in
            writer.string(database)
            writer.raw(document.root["_id"]?.bytes ?? Array("null".utf8)[...])
            if let time {
                writer.object { $0.member("at", integer: time) }
            } else if let edge = edge?.key {
                writer.object { $0.member("edge", string: edge) }
            } else {
                writer.raw(document.root["_rev"]?.bytes ?? Array("null".utf8)[...])
            }
            writer.string(rule)
            writer.string(action)
            writer.integer(origin.step)
            if let element = origin.element { writer.integer(element) } else { writer.null() }
            if let passTime { writer.object { $0.member("every", integer: passTime) } }
        }
        return Digest.sha256.hex(writer.bytes)
    }
}
