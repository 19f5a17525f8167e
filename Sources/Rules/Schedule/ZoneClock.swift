internal import CICU
internal import Locking

/// The clocks of a time zone, from the rules in ICU.
///
/// Does not use Foundation, because the program omits the data of Foundation's ICU.
package final class ZoneClock: Sendable {
    private struct Zone: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer
    }

    /// The name in the tz database: `Europe/Berlin`.
    package let name: String
    private let zone: Locked<Zone>

    /// Nil for an unknown name.
    package init?(_ name: String) {
        guard let pointer = cicu_open_zone(name) else { return nil }
        self.name = name
        zone = Locked(Zone(pointer: pointer))
    }

    deinit { zone.withLock { cicu_close_zone($0.pointer) } }

    /// The offset from UTC in seconds, positive east of Greenwich.
    ///
    /// - Parameter seconds: Since 1970.
    func offset(at seconds: Int) -> Int { zone.withLock { Int(cicu_zone_offset($0.pointer, Double(seconds))) } }

    /// The names of all zones.
    static var names: [String] {
        final class Names { var all: [String] = [] }
        let names = Names()
        cicu_list_zones(Unmanaged.passUnretained(names).toOpaque()) { context, name in
            guard let context, let name else { return }
            Unmanaged<Names>.fromOpaque(context).takeUnretainedValue().all.append(String(cString: name))
        }
        return withExtendedLifetime(names) { names.all }
    }
}
