internal import LosslessJSON
internal import Rules

extension DocumentDiff {
    init(_ report: DecisionReport) {
        let decision = report.decision
        id = report.document.root["_id"]?.string ?? ""
        revision = report.document.root["_rev"]?.string
        rules = report.fired
        before = report.document
        if let error = decision.error {
            outcome = .deadLettered(reason: error.description)
        } else {
            outcome = decision.isDeletion ? .deleted : .written(decision.document)
        }
        attached = report.attached.compactMap { name in
            decision.attachments[name].map { attachment in
                NewAttachment(
                    name: name.text, contentType: attachment.contentType, byteCount: attachment.content.length,
                    sha256: attachment.content.sha256, url: attachment.isDownloaded ? nil : attachment.url)
            }
        }
        detached = report.detached
        related = report.related.compactMap { effect, finding in
            finding.map { finding in
                RelatedDocuments(
                    selector: effect.selector.excerpt, found: finding.found, changed: finding.changed,
                    documents: finding.documents.map { other in
                        (
                            other.document.root["_id"]?.string ?? "", other.document,
                            other.decision.isDeletion ? nil : other.decision.document
                        )
                    })
            }
        }
        otherDocuments = decision.puts.map { OtherDocument(id: $0.id, keyspace: $0.keyspace, document: $0.document) }
        totals = report.contributions.map { Total(target: $0.target, values: $0.values) }
        outside = decision.outside.map { OutsideEffect(title: $0.title, content: $0.content) }
        if let resolution = decision.resolution { outside.append(OutsideEffect(title: resolution.title)) }
    }
}
