internal import LosslessJSON

/// How an action names the attachment: by its name, or by the member of a blob.
enum AttachmentPlace: Sendable {
    case name(TextTemplate)
    case blob(TextTemplate, RuleFileKind)

    var template: TextTemplate {
        switch self {
        case .name(let template), .blob(let template, _): template
        }
    }

    /// Nil, with errors, if there is neither `name` nor `blob`, or both, or a name that no gateway accepts.
    ///
    /// - Parameter remedy: What to write if both are missing.
    init?(_ object: SourceObject, _ reading: RuleReading, remedy: String) {
        let errors = reading.errors
        guard let node = object.node("blob") else {
            guard let name = reading.requiredText(object, "name", remedy) else { return nil }
            self = .name(name)
            if let literal = name.literal, let error = Self.error(ofName: literal), let node = object.node("name") {
                errors.report(at: node.position, error)
            }
            return
        }
        if object.node("name") != nil {
            errors.report(
                at: node.position,
                "a blob determines the name of its attachment; remove 'name' or 'blob'")
        }
        guard let blob = reading.text(object, "blob") else { return nil }
        self = .blob(blob, reading.kind)
        guard let literal = blob.literal else { return }
        do throws(BlobPlaceError) { _ = try BlobPlace(literal, reading.kind) } catch {
            errors.report(at: node.position, error.reason)
        }
    }

    static func error(ofName name: String) -> String? {
        name.begins(with: "_") ? "gateways refuse attachment names that begin with '_'; rename it" : nil
    }

    /// The attachment's name and, for a blob, its place. Nil if a program gives nothing.
    ///
    /// - Throws: ``ActionError`` if the name or the pointer is not valid.
    func resolved(_ outputs: [[JSONText]], of what: String) throws(ActionError) -> (name: String, blob: BlobPlace?)? {
        guard let text = try template.text(outputs, of: what) else { return nil }
        guard case .blob(_, let kind) = self else { return (text, nil) }
        do throws(BlobPlaceError) {
            let place = try BlobPlace(text, kind)
            return (place.attachmentName, place)
        } catch {
            throw .failed("blob: \(error.reason)")
        }
    }
}
