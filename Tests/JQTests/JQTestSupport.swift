import JQ
import LosslessJSON

/// A pool of one process, with a generous deadline for machines that are busy with other tests.
func pool(_ programs: [String], _ change: (inout JQPool.Settings) -> Void = { _ in }) -> JQPool {
    var settings = JQPool.Settings()
    settings.helpers = 1
    settings.deadline = .seconds(60)
    change(&settings)
    return JQPool(programs: programs.map { JQProgram($0) }, settings: settings)
}

func call(_ program: Int = 0, _ document: String = "null") throws -> JQCall {
    JQCall(
        program: program, document: try JSONText(document), change: Array(#"{"seq":5,"id":"a"}"#.utf8),
        match: Array(#"{"n":"x"}"#.utf8), now: 1_700_000_000)
}

/// The outcome of one program over one document.
func outcome(_ program: String, _ document: String = "null") async throws -> JQOutcome {
    await pool([program]).run([try call(0, document)])[0]
}

extension JQOutcome {
    /// The outputs' texts; nil if the call failed.
    var texts: [String]? {
        guard case .outputs(let texts) = self else { return nil }
        return texts.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    var error: JQError? {
        guard case .failed(let error) = self else { return nil }
        return error
    }
}
