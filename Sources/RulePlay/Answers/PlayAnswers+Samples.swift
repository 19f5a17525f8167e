internal import HTTPServing
internal import LosslessJSON

extension PlayAnswers {
    private static let pageLimit = 100
    /// The maximum number of documents that are picked at once.
    private static let pickLimit = 200
    /// Longer documents are shown in part, and can't be edited.
    private static let editedLimit = 1 << 20
    /// How many bytes of such a document are shown.
    private static let shownLimit = 16 << 10

    /// A part of the list of documents.
    func listSamples(_ body: RequestBody) -> Answer {
        let samples = settings.samples.all
        let start = min(max(0, body.optionalNumber("from") ?? 0), samples.count)
        let end = min(samples.count, start + Self.pageLimit)
        return Self.answer { writer in
            writer.member("total", integer: samples.count)
            writer.member("from", integer: start)
            writer.name("samples")
            writer.array { writer in
                for number in start..<end {
                    writer.object { writer in
                        writer.member("number", integer: number)
                        writer.member("id", string: String(samples[number].id.prefix(200)))
                        writer.member("origin", string: String(samples[number].origin.prefix(200)))
                        writer.member("group", string: String(samples[number].group.prefix(200)))
                        writer.member("excerpt", string: samples[number].excerpt)
                    }
                }
            }
        }
    }

    /// One document, to be edited.
    func showSample(_ body: RequestBody) throws(Refusal) -> Answer {
        let number = try body.number("number")
        guard let sample = settings.samples[number] else {
            throw Refusal(404, "there is no such document; reload the page")
        }
        let documents = [sample.document, sample.before].compactMap(\.self)
        let isWhole = documents.allSatisfy { $0.bytes.count <= Self.editedLimit }
        return Self.answer { writer in
            writer.member("number", integer: number)
            writer.member("text", string: Self.shown(sample.document))
            writer.member("isWhole", bool: isWhole)
            writer.member("length", integer: documents.reduce(0) { $0 + $1.bytes.count })
            writer.member("before", string: sample.before.map(Self.shown) ?? "")
        }
    }

    private static func shown(_ document: JSONText) -> String {
        guard document.bytes.count <= editedLimit else {
            return String(decoding: document.bytes.prefix(shownLimit), as: UTF8.self) + " …"
        }
        return String(decoding: document.bytes, as: UTF8.self)
    }

    /// Adds a typed document, or puts it in the place of another one.
    func changeSample(_ body: RequestBody) throws(Refusal) -> Answer {
        let document = try TypedDocument.read(try body.text("text"), "the document")
        let before = try (body.optionalText("before") ?? "").trimmedOrNil.map { text throws(Refusal) in
            try TypedDocument.read(text, "the earlier document")
        }
        guard let number = body.optionalNumber("number") else {
            guard settings.samples.add(Sample(document, before: before, origin: "typed", group: "Typed")) else {
                throw Self.full
            }
            return Self.answer { $0.member("number", integer: settings.samples.count - 1) }
        }
        guard let old = settings.samples[number] else {
            throw Refusal(404, "there is no such document; reload the page")
        }
        let origin = old.origin.hasSuffix("changed") || old.origin == "typed" ? old.origin : old.origin + ", changed"
        let new = Sample(document, before: before, origin: origin, group: old.group)
        guard settings.samples.replace(number, with: new) else {
            throw Self.full
        }
        return Self.answer { $0.member("number", integer: number) }
    }

    private static let full = Refusal(
        413, "there is no room for more documents; remove them, or start the command with fewer")

    /// Removes all documents, or only those of the example that are as they were.
    func clearSamples(_ body: RequestBody) -> Answer {
        let removed = settings.samples.remove(onlyExamples: body.flag("onlyExamples"))
        return Self.answer { writer in
            writer.member("removed", integer: removed)
            writer.member("total", integer: settings.samples.count)
        }
    }

    /// Adds documents of the gateway. Only reads.
    func pickSamples(_ body: RequestBody) async throws(Refusal) -> Answer {
        guard let gateway = settings.gateway else {
            throw Refusal(404, "there is no gateway; start the command with --gateway URL")
        }
        let limit = min(max(1, body.optionalNumber("limit") ?? Self.pickLimit), Self.pickLimit)
        let picked: PickedDocuments
        do { picked = try await gateway.pick(try body.text("selector"), limit) } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw Refusal(502, "\(error)")
        }
        // The same selector finds the same documents again.
        let known = Set(settings.samples.all.map(\.document.bytes))
        let new = picked.documents.filter { !known.contains($0.bytes) }
        let count = new.prefix {
            settings.samples.add(Sample($0, origin: "gateway", group: "From the gateway"))
        }.count
        return Self.answer { writer in
            writer.member("added", integer: count)
            writer.member("known", integer: picked.documents.count - new.count)
            writer.member("total", integer: settings.samples.count)
            writer.member("isFull", bool: count < new.count)
            picked.unreadable.write(to: &writer)
        }
    }
}

extension String {
    /// Nil if there is only white space.
    fileprivate var trimmedOrNil: String? { contains { !$0.isWhitespace } ? self : nil }
}
