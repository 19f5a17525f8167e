extension BotMetrics {
    /// The metrics of a bot that belongs to a fleet.
    static let fleetFamilies: [MetricFamily] = [
        .fleetEngineUp, .fleetMembers, .fleetLeads, .fleetStandby, .fleetDrained, .fleetPartitions, .fleetBacklog,
        .fleetPartitionBacklog, .fleetOldestChange, .fleetParked, .fleetDead, .fleetTakeovers, .fleetLeaseLosses,
        .fleetFencedCommits, .fleetUnknownCommits,
    ]

    /// - Parameter known: The partitions that have a metric. The metric of a partition that this process has lost
    ///   becomes 0.
    /// - Returns: The partitions that now have a metric.
    func set(_ fleet: FleetView?, known: Set<Int>) -> Set<Int> {
        guard let fleet else { return known }
        let engineReport = fleet.engineReport
        // An unknown value is NaN.
        func count(_ value: Int?) -> Double { value.map(Double.init) ?? .nan }
        set(.fleetEngineUp, engineReport == nil ? 0 : 1)
        set(.fleetMembers, count(engineReport?.members.count))
        set(.fleetLeads, fleet.leads ? 1 : 0)
        set(.fleetStandby, fleet.isOnStandby ? 1 : 0)
        set(.fleetDrained, fleet.isDrained ? 1 : 0)
        set(.fleetPartitions, count(engineReport?.ownBacklog.count))
        set(.fleetBacklog, count(engineReport?.backlog))
        set(.fleetOldestChange, engineReport.map { $0.oldestAge ?? 0 } ?? .nan)
        set(.fleetParked, count(engineReport?.parked))
        set(.fleetDead, count(engineReport?.dead))
        set(.fleetTakeovers, count(engineReport?.takeovers))
        set(.fleetLeaseLosses, Double(fleet.leaseLosses))
        set(.fleetFencedCommits, Double(fleet.fencedCommits))
        set(.fleetUnknownCommits, Double(fleet.unknownCommits))
        guard let backlog = engineReport?.ownBacklog else {
            for partition in known { set(.fleetPartitionBacklog, .nan, ["partition": "\(partition)"]) }
            return known
        }
        for partition in known.union(backlog.keys) {
            set(.fleetPartitionBacklog, Double(backlog[partition] ?? 0), ["partition": "\(partition)"])
        }
        return known.union(backlog.keys)
    }
}

extension MetricFamily {
    fileprivate static let fleetEngineUp = MetricFamily(
        "changebot_fleet_engine_up", .gauge, "1 if the engine of the fleet answered the last query.")
    fileprivate static let fleetMembers = MetricFamily(
        "changebot_fleet_members", .gauge, "Members of the fleet, including those on standby.")
    fileprivate static let fleetLeads = MetricFamily(
        "changebot_fleet_leader", .gauge, "1 if this member runs alone, or reads the feed for the fleet.")
    fileprivate static let fleetStandby = MetricFamily(
        "changebot_fleet_standby", .gauge, "1 if this member is on standby.")
    fileprivate static let fleetDrained = MetricFamily(
        "changebot_fleet_drained", .gauge, "1 if this member is drained.")
    fileprivate static let fleetPartitions = MetricFamily(
        "changebot_fleet_partitions_owned", .gauge, "Partitions that this member works on.")
    fileprivate static let fleetBacklog = MetricFamily(
        "changebot_fleet_backlog_changes", .gauge, "Changes that wait in the log of a fleet.")
    fileprivate static let fleetPartitionBacklog = MetricFamily(
        "changebot_fleet_partition_backlog_changes", .gauge, "Changes that wait in a partition of this member.")
    fileprivate static let fleetOldestChange = MetricFamily(
        "changebot_fleet_oldest_change_seconds", .gauge, "How long the oldest change has waited in the log.")
    fileprivate static let fleetParked = MetricFamily(
        "changebot_fleet_parked_changes", .gauge, "Changes that wait for another attempt outside the log.")
    fileprivate static let fleetDead = MetricFamily(
        "changebot_fleet_dead_changes", .gauge, "Changes that crashed every process that tried them.")
    fileprivate static let fleetTakeovers = MetricFamily(
        "changebot_fleet_takeovers_total", .counter, "Leases taken over from a member that had not released them.")
    fileprivate static let fleetLeaseLosses = MetricFamily(
        "changebot_fleet_lease_losses_total", .counter, "Leases that this member lost.")
    fileprivate static let fleetFencedCommits = MetricFamily(
        "changebot_fleet_fenced_commits_total", .counter, "Commits of this member that were refused.")
    fileprivate static let fleetUnknownCommits = MetricFamily(
        "changebot_fleet_unknown_commits_total", .counter, "Commits of this member that ended without an answer.")
}
