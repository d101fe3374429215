import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

/** The identity of a station, which survives a restart. */
export const Identity = Type.Object({
  stationId: Type.String(),
  /** Token between backend and agent. */
  agentToken: Type.String(),
});
export type Identity = Static<typeof Identity>;

/** Reads or creates `identity.json` in the state folder. */
export async function readIdentity(stateFolder: string): Promise<Identity> {
  const path = join(stateFolder, 'identity.json');
  const kept = parse(await readText(nodeDisk, path));
  if (kept) return kept;
  const identity = { stationId: randomUUID(), agentToken: randomBytes(32).toString('base64url') };
  await writeDurable(nodeDisk, path, `${JSON.stringify(identity)}\n`);
  return identity;
}

function parse(text: string | null): Identity | null {
  try {
    const body: unknown = JSON.parse(text ?? 'null');
    return Value.Check(Identity, body) ? body : null;
  } catch {
    return null;
  }
}
