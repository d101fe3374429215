import type { Clock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import type { BackendLogger } from '@station/kit/logger';
import { deviceTopic } from '@station/protocol/topics';
import type { ForeignDevices } from '../core/foreign-devices-port.ts';
import type { DeviceEvents, DeviceReport, StatesBefore } from '../core/device-events.ts';
import { databaseFaultOf } from '../core/storage-faults.ts';
import { type AvailabilityKeeper, createAvailabilityKeeper } from './availability-keeper.ts';
import { createDeviceFaults, type DeviceFaults } from './device-faults.ts';
import type { DroppedMessages } from './dropped-messages.ts';
import type { MqttDevices, MqttSharing, OnReports, TakeReports, WriteReports } from './ports.ts';
import { createReportWriter, type ReportWriter } from './report-writer.ts';

export type ReportFlowParts = {
  stationId: string;
  /** Null: there is only this backend. */
  sharing: MqttSharing | null;
  devices: MqttDevices;
  writeReports: WriteReports;
  /** Unset: every report is written at once. */
  takeReports?: TakeReports | undefined;
  /** Hears how writes end. */
  storage: { failed(error: unknown): void; written(): void };
  events: DeviceEvents;
  foreign: Pick<ForeignDevices, 'isForeign'>;
  clock: Clock;
  logger: BackendLogger;
};

/** The way of a report to the disk, and what is known of devices from what is there. */
export type ReportFlow = {
  writer: ReportWriter;
  keeper: AvailabilityKeeper;
  faults: DeviceFaults;
  /** Reports are on disk, written here or by another replica. */
  onReports: OnReports;
};

/** Reports as written, and ids of devices whose state exceeded its limits. */
type WrittenStates = { reports: readonly DeviceReport[]; cutIds: readonly string[] };

export async function openReportFlow(
  opened: AsyncDisposableStack,
  parts: ReportFlowParts,
  dropped: DroppedMessages,
): Promise<ReportFlow> {
  const { sharing, devices, events, foreign, clock } = parts;
  const onDisk = createEmitter<{ reports: readonly DeviceReport[]; before: StatesBefore | undefined }>();
  const states = createEmitter<WrittenStates>();
  onDisk.subscribe(({ reports, before }) =>
    events.emit({ kind: 'reports', reports, ...(before === undefined ? {} : { before }) }),
  );
  const onReports: OnReports = (reports, before) => onDisk.emit({ reports, before });
  const writer = opened.use(createWriter(parts, dropped, onReports, states.emit));
  const stored = await devices.list();
  const faults = opened.use(createDeviceFaults({ devices: stored, events }));
  const { write } = writer;
  const isShared = sharing !== null;
  const keeper = opened.use(
    createAvailabilityKeeper({ devices: stored, write, events, isForeign: foreign.isForeign, clock, isShared }),
  );
  onDisk.subscribe(({ reports, before }) => {
    keeper.written(reports);
    if (before === undefined) faults.written(reports);
  });
  states.subscribe(({ reports, cutIds }) => {
    // Awaited by nobody: the messages that caused them are on disk.
    for (const fault of faults.statesWritten(reports, cutIds)) void write(fault);
  });
  if (sharing !== null) opened.use(sharing.onGap(() => rereadStatuses(keeper, parts)));
  return { writer, keeper, faults, onReports };
}

function createWriter(
  { stationId, sharing, writeReports, takeReports, storage, clock, logger }: ReportFlowParts,
  dropped: DroppedMessages,
  onReports: OnReports,
  onStates: (states: WrittenStates) => void,
): ReportWriter {
  return createReportWriter({
    writeBatch: async (reports) => {
      const written = await writeReports(reports);
      storage.written();
      return written;
    },
    ...(takeReports && { takeBatch: takeReports }),
    onWritten: (_given, { reports, before, cut, cutIds }) => {
      for (const externalId of cut) dropped.drop('state_full', deviceTopic(stationId, externalId, 'state'));
      // With replicas, the fan-out emits it on all of them.
      if (sharing === null) onReports(reports, before);
      onStates({ reports, cutIds });
    },
    onFailure: (error) => {
      storage.failed(error);
      // A condition shows faults of the storage.
      if (databaseFaultOf(error) !== null) return;
      logger.failed('writing reports', error);
    },
    clock,
  });
}

/** Other replicas may have changed them during the gap. */
async function rereadStatuses(keeper: AvailabilityKeeper, { devices, clock }: ReportFlowParts): Promise<void> {
  for (const { id: deviceId, status, status_at: at } of await devices.list()) {
    if (status === 'unknown') continue;
    const report: DeviceReport = { kind: 'status', deviceId, status, at: at ?? clock.now() };
    keeper.written([report]);
  }
}
