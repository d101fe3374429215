import { shareRun } from '@station/kit/shared-run';
import { within } from '@station/kit/within';
import type { ServiceRestart, ServiceStatus, Status } from '@station/protocol/agent-api';
import { isNewer } from '@station/protocol/version';
import { ownValue } from '@station/protocol/own-value';
import type { Journal } from './journal.ts';
import type { JournalKeeper } from './journal-keeper.ts';
import { rollbackTarget } from './operation-decide.ts';
import type { ContainerFact, StackEngine } from './stack-ports.ts';
import type { ReleasePoll } from './release-poll.ts';
import type { LastError } from './stack-conditions.ts';

export type StackStatus = {
  versions(): Pick<Status, 'currentVersion' | 'latestVersion'>;
  /** True when a newer release is available that has not failed here. */
  updateAvailable(): boolean;
  /** The installed release for a backup; null: none. */
  installed(): { version: string | null; images: Record<string, string> } | null;
  /** The stack's part of the agent's status, read now. */
  status(): Promise<Pick<Status, StackField>>;
};

type StackField =
  | 'currentVersion'
  | 'latestVersion'
  | 'latestNotes'
  | 'updateAvailable'
  | 'updating'
  | 'lastCheckAt'
  | 'lastError'
  | 'operation'
  | 'rollback'
  | 'quarantined'
  | 'history'
  | 'stack';

type Parts = {
  keeper: Pick<JournalKeeper, 'isLoaded' | 'journal' | 'operation'>;
  engine: Pick<StackEngine, 'containers'>;
  poll: Pick<ReleasePoll, 'latest' | 'lastCheckAt'>;
  lastError: () => LastError | null;
  lastRestart: () => ServiceRestart | null;
};

export function createStackStatus(parts: Parts): StackStatus {
  const { keeper, poll } = parts;
  const services = createServiceList(parts);
  const journalOrNull = (): Journal | null => (keeper.isLoaded() ? keeper.journal() : null);
  const versions = () => ({
    currentVersion: journalOrNull()?.installed?.version ?? null,
    latestVersion: poll.latest()?.version ?? null,
  });
  const updateAvailable = (): boolean => isUpdateAvailable(journalOrNull(), versions().latestVersion);
  return {
    versions,
    updateAvailable,
    installed: () => {
      const release = journalOrNull()?.installed ?? null;
      return release && { version: release.version, images: release.images };
    },
    status: async () => {
      const journal = journalOrNull();
      const operation = keeper.operation();
      const target = journal && rollbackTarget(journal);
      return {
        ...versions(),
        latestNotes: poll.latest()?.notes ?? null,
        updateAvailable: updateAvailable(),
        updating: operation !== null,
        lastCheckAt: poll.lastCheckAt(),
        lastError: parts.lastError(),
        operation,
        rollback: target ? { version: target.release.version, createdAt: target.at } : null,
        quarantined: journal?.quarantined ?? [],
        history: journal?.history ?? [],
        stack: { services: await services(), restart: parts.lastRestart() },
      };
    },
  };
}

function isUpdateAvailable(journal: Journal | null, latest: string | null): boolean {
  if (journal === null || latest === null) return false;
  const isQuarantined = journal.quarantined.some(({ version }) => version === latest);
  return !isQuarantined && isNewer(latest, journal.installed?.version ?? null);
}

type ServiceListParts = Pick<Parts, 'engine'> & { keeper: Pick<JournalKeeper, 'isLoaded' | 'journal'> };

/** An engine may accept a call and never answer it; the status must not wait for that. */
const usualTimeoutMs = 3000;

/** Lists the services as the engine reports them now; none when it does not answer (that has its own condition). */
export function createServiceList({ engine, keeper }: ServiceListParts, { timeoutMs = usualTimeoutMs } = {}) {
  const ask = shareRun(() => engine.containers().catch((): ContainerFact[] => []));
  return async (): Promise<ServiceStatus[]> => {
    const journal = keeper.isLoaded() ? keeper.journal() : null;
    const kept = (journal?.kept ?? []).map((entry) => entry.release);
    const releases = [journal?.operation?.to, journal?.installed, ...kept];
    const containers = await within(timeoutMs, ask());
    return (containers ?? []).map(({ service, image, imageId, state, health }) => {
      const known = ownValue(
        releases.find((release) => ownValue(release?.imageIds, service) === imageId)?.images,
        service,
      );
      return { name: service, image: known ?? image, state, health };
    });
  };
}
