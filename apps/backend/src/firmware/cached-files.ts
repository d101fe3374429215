import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { AgentClient } from '../adapters/agent-client.ts';
import type { FirmwareImage } from './image-store.ts';

/** What is read here of the agent's /status. */
const Told = Type.Object({
  firmware: Type.Object({ files: Type.Array(Type.Object({ name: Type.String(), version: Type.String() })) }),
});
/** It answers from memory, on the same machine; nobody is to wait for one that hangs. */
const answerTimeoutMs = 2_000;

/**
 * Which images cannot be installed any more: the backend knows of images for ever, the agent removes old files. Asked anew each time, so
 * that there is no record that could be wrong. An agent that does not answer, or does not say, leaves all as they are.
 */
export async function askWhatIsGone(
  agent: Pick<AgentClient, 'call'>,
): Promise<(image: Pick<FirmwareImage, 'type' | 'version'>) => boolean> {
  const answer = await agent.call('GET', '/status', { timeoutMs: answerTimeoutMs }).catch(() => null);
  if (answer?.statusCode !== 200 || !Value.Check(Told, answer.body)) return () => false;
  const { files } = answer.body.firmware;
  return ({ type, version }) => !files.some((file) => file.name === type && file.version === version);
}
