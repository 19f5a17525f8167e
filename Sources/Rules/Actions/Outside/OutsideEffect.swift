internal import Encodings
package import LosslessJSON

/// Something that a rule wants done outside the database, before the changed document is written.
package struct OutsideEffect: Effect {
    /// What is done.
    package enum Kind: Sendable {
        case emit(EmitEffect)
        case webhook(WebhookEffect)
    }

    package static let kind = EffectKind.outside
    package let origin: EffectOrigin
    package let kind: Kind

    /// A rule that fires again sends what it wants then.
    package func isDropped(for later: Effects) -> Bool { true }

    /// The name of its action, as in rule files.
    package var action: String {
        switch kind {
        case .emit: "emit"
        case .webhook: "webhook"
        }
    }

    /// Whether its outcome is written into the changed document.
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

    /// What is done, for people: `emit to ../out/orders.ndjson`.
    package var title: String {
        switch kind {
        case .emit(let emit): "emit to \(emit.target == .standardOutput ? "stdout" : emit.file)"
        case .webhook(let effect): "webhook \(effect.method.rawValue) \(effect.url)"
        }
    }

    /// What is sent; nil if it is not JSON.
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

/// What tells one effect from all others, so that a receiver recognizes one that it gets again after a crash.
package enum EffectKey {
    /// SHA-256, in lowercase hexadecimal, of a JSON list: database, document, revision, rule, action and its place.
    ///
    /// A rule with `at:` fires once for a time of a document: then that time takes the place of the revision, so that the
    /// effect is the same after a crash between the write of the document and the record that the rule has fired. A rule
    /// of a file with `every:` acts on the same revision at each of its times: then the time is a further element.
    ///
    /// - Parameters:
    ///   - database: What tells the database from others.
    ///   - document: As the rules found it, with `_id` and `_rev`.
    ///   - rule: The rule's name.
    ///   - action: The action's name.
    ///   - time: The time for which the rule fired: ``Decision/firedTimes``. Nil: it has no `at:`.
    ///   - passTime: The time for which a pass over all documents runs. Nil: it has none.
    package static func text(
        database: String, document: JSONText, rule: String, action: String, _ origin: EffectOrigin,
        time: Int? = nil, passTime: Int? = nil
    ) -> String {
        var writer = JSONWriter()
        writer.array { writer in
            writer.string(database)
            writer.raw(document.root["_id"]?.bytes ?? Array("null".utf8)[...])
            if let time {
                writer.object { $0.member("at", integer: time) }
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
