internal import HTTPServing
internal import LosslessJSON
internal import RuleEditing
internal import Rules

extension PlayAnswers {
    /// Errors, results, tests and counts for a text, as a stream of lines.
    func evaluate(_ body: RequestBody) throws(Refusal) -> Answer {
        let page = try body.text("page")
        let evaluation = Evaluation(
            file: try file(body), text: try body.text("text"), now: body.optionalNumber("now") ?? settings.now(),
            visible: body.numbers("visible"), selected: body.optionalNumber("selected"), counts: body.flag("counts"))
        guard evaluation.text.utf8.count <= PlayFile.lengthLimit else {
            throw Refusal(413, "the text is longer than \(PlayFile.lengthLimit) bytes; split it into several files")
        }
        let number = latest.begin(page)
        let (latest, reader, settings) = (latest, reader, settings)
        return Answer(
            status: 200, fields: [HTTPField("Content-Type", "application/x-ndjson")],
            body: .streamed { send in
                try await evaluation.run(
                    reader, settings.samples, settings.diff,
                    isWanted: { latest.isLatest(number, of: page) && !Task.isCancelled }, send)
            })
    }

    private func edited(_ body: RequestBody) throws(Refusal) -> (EditedRuleFile, TextPosition) {
        let edited = EditedRuleFile(path: try file(body).path, text: try body.text("text"), in: context)
        return (edited, TextPosition(line: max(0, try body.number("line")), column: max(0, try body.number("column"))))
    }

    func complete(_ body: RequestBody) throws(Refusal) -> Answer {
        let (edited, position) = try edited(body)
        return Self.answer { writer in
            writer.name("completions")
            writer.array { writer in
                for completion in edited.completions(at: position).prefix(200) {
                    writer.object { writer in
                        writer.member("label", string: completion.label)
                        writer.member("text", string: completion.text)
                        writer.member("documentation", string: completion.documentation)
                        PlayJSON.write(completion.range, to: &writer)
                    }
                }
            }
        }
    }

    func hover(_ body: RequestBody) throws(Refusal) -> Answer {
        let (edited, position) = try edited(body)
        return Self.answer { writer in
            guard let hover = edited.hover(at: position) else { return writer.member("help", string: "") }
            writer.member("help", string: hover.text)
            PlayJSON.write(hover.range, to: &writer)
        }
    }

    /// The text with a test that expects what the rules do to a document now.
    func addTest(_ body: RequestBody) async throws(Refusal) -> Answer {
        let file = try file(body)
        let text = try body.text("text")
        let now = body.optionalNumber("now") ?? settings.now()
        guard let sample = settings.samples[try body.number("number")] else {
            throw Refusal(404, "there is no such document; reload the page")
        }
        guard let rules = await reader.read(text, of: file.path)?.rules else {
            throw Refusal(422, "the rules have errors; correct them first")
        }
        let test = try await recordedTest(of: sample, Trial(rules: rules, now: now), name: body.optionalText("name"))
        do throws(RuleFileAddition.Refusal) {
            let changed = try RuleFileAddition(path: file.path, bytes: Array(text.utf8)).adding(tests: [test.lines])
            return Self.answer { $0.member("text", string: String(decoding: changed, as: UTF8.self)) }
        } catch {
            throw Refusal(422, error.description)
        }
    }

    private func recordedTest(of sample: Sample, _ trial: Trial, name: String?) async throws(Refusal) -> RecordedTest {
        guard let report = await trial.report(of: sample) else {
            throw Refusal(503, "the rules have made no decision; try again")
        }
        do throws(RecordedTest.Refusal) {
            return try RecordedTest(
                report, named: name.flatMap { $0.isEmpty ? nil : $0 }, before: sample.before,
                now: trial.rules.usesTime ? trial.now : nil)
        } catch {
            throw Refusal(422, error.description)
        }
    }
}
