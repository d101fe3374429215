import { createHome } from '../../e2e/bad-releases/home.ts';
import { firstOfForeign } from '../../e2e/bad-releases/foreign-releases.ts';
import { type Changes, createOffers, install, type Station } from '../../e2e/bad-releases/offered.ts';
import { createStory, type StoryOptions } from '../../e2e/update/story.ts';
import { waitFor } from '../../rig/program.ts';
import { type Gate, stabilizationSeconds, type Verdict } from './gate.ts';

/** As in the end-to-end tests, but patient: others work beside it. */
const env = {
  STABILIZATION_SECONDS: String(stabilizationSeconds),
  HEALTHCHECK_TIMEOUT_SECONDS: '30',
  DEVICES_BACK_SECONDS: '30',
  PROBATION_MINUTES: '0',
};

/** A minute, and the way back. */
const probationMs = 120_000;

export async function stationOfHome(): Promise<Gate> {
  const home = await createHome({ env });
  return gateOf(home, home);
}

export async function foreignStation(): Promise<Gate> {
  const { station, life } = await foreign({ env });
  return gateOf(station, life);
}

/** Each release on a new station, which looks at it for a minute after its verdict, and goes back by itself. */
export const foreignStationInProbation = (): Gate => ({
  judge: async (changes) => {
    const { station, life } = await foreign({ env: { ...env, PROBATION_MINUTES: '1', AUTO_UPDATE: 'true' } });
    await using _ = life;
    const { version } = await install(station, changes);
    const ends = Date.now() + probationMs;
    const verdict = await waitFor<Verdict>(
      'the end of the probation',
      async () => {
        const { operation, currentVersion } = await station.agent.status();
        if (operation === null && currentVersion !== version) return 'caught';
        return Date.now() > ends && 'kept';
      },
      2 * probationMs,
    );
    return { Station: verdict };
  },
  [Symbol.asyncDispose]: async () => undefined,
});

async function foreign(options: StoryOptions): Promise<{ station: Station; life: AsyncDisposable }> {
  const life = await createStory(options);
  const station = { agent: life.agent, offer: createOffers(life.rig) };
  await install(station, firstOfForeign);
  return { station, life };
}

function gateOf(station: Station, life: AsyncDisposable): Gate {
  return {
    judge: async (changes: Changes) => {
      const { version, status } = await install(station, changes);
      return { Station: status.currentVersion === version ? 'kept' : 'caught' };
    },
    [Symbol.asyncDispose]: () => life[Symbol.asyncDispose](),
  };
}
