import type { ServiceStatus } from '@station/protocol/agent-api';
import type { ContainerFact } from './stack-facts.ts';
import type { StackEngine } from './ports.ts';
import type { Updater } from './journal-keeper.ts';

export type ServiceListParts = {
  engine: Pick<StackEngine, 'containers'>;
  updater: Pick<Updater, 'isLoaded' | 'journal'>;
};

/** An engine may accept a call and never answer it; whoever looks at the station is not kept waiting for that. */
const usualPatienceMs = 3000;

/** Lists the services as the engine sees them now; none when it does not answer, which is a condition of its own. */
export function createServiceList({ engine, updater }: ServiceListParts, { patienceMs = usualPatienceMs } = {}) {
  let asking: Promise<ContainerFact[]> | null = null;
  // One question at a time, however many look.
  const ask = (): Promise<ContainerFact[]> =>
    (asking ??= engine
      .containers()
      .catch(() => [])
      .finally(() => {
        asking = null;
      }));

  return async (): Promise<ServiceStatus[]> => {
    const journal = updater.isLoaded() ? updater.journal() : null;
    const kept = (journal?.kept ?? []).map((entry) => entry.release);
    const releases = [journal?.operation?.to, journal?.installed, ...kept];
    const containers = await within(patienceMs, ask());
    return (containers ?? []).map(({ service, image, imageId, state, health }) => {
      const known = releases.find((release) => release?.imageIds[service] === imageId)?.images[service];
      return { name: service, image: known ?? image, state, health };
    });
  };
}

/** The answer; null when it has not come in time. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
