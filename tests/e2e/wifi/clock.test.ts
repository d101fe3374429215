import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { ClockStatus } from '@station/protocol/agent-api';
import { until } from '../../vstation/agent.ts';
import { createStory, type Story } from './story.ts';

// A person sets the clock of a station without internet: the agent, the system's own systemd-timedated and systemd-timesyncd.

const twoYearsMs = 2 * 365 * 24 * 3_600_000;
const agentSocket = 'curl -sS -m 30 --unix-socket /run/station-agent/agent.sock http://localhost/clock';
/** Milliseconds: what commands take on an emulated processor. */
const nearMs = 60_000;

let story: Story;
describe('a clock that nobody on the internet can set', () => {
  before(async () => {
    story = await createStory();
    await story.agent.start();
  });

  const read = async (): Promise<ClockStatus> => JSON.parse(await story.machine.must(agentSocket)) as ClockStatus;
  async function set(ms: number): Promise<ClockStatus> {
    const body = JSON.stringify({ now: new Date(ms).toISOString() });
    const json = `-H 'content-type: application/json' -d '${body}'`;
    const answer = await story.machine.must(`${agentSocket} --write-out '\\n%{http_code}' ${json}`);
    const [text = '', code] = answer.split('\n');
    assert.equal(code, '200', text);
    return JSON.parse(text) as ClockStatus;
  }
  const synchronises = (): Promise<unknown> =>
    until(
      'systemd-timesyncd to run',
      async () => (await story.machine.run('systemctl is-active systemd-timesyncd')).code === 0,
      {
        timeoutMs: 60_000,
        describe: () => story.machine.journal({ unit: 'systemd-timesyncd' }),
      },
    );
  const isNear = (a: number, b: number): boolean => Math.abs(a - b) < nearMs;

  test('nobody vouches for it, and a person does', async () => {
    assert.equal((await read()).trusted, false);
    const wanted = (await story.now()) + twoYearsMs;
    const { trusted, source, now } = await set(wanted);
    assert.deepEqual({ trusted, source }, { trusted: true, source: 'person' });
    assert.ok(isNear(Date.parse(now), wanted), now);
    assert.ok(isNear(await story.now(), wanted), 'the clock of the machine itself');
  });

  test('with time synchronisation that finds no server, which goes on afterwards', async () => {
    const { machine } = story;
    // It takes a moment to stop, as chrony does: the time is refused until then.
    const slowStop = '/run/systemd/system/systemd-timesyncd.service.d';
    await machine.must(`mkdir -p ${slowStop} && printf '[Service]\\nExecStop=/bin/sleep 3\\n' > ${slowStop}/slow.conf`);
    await machine.must('systemctl daemon-reload && systemctl unmask systemd-timesyncd && timedatectl set-ntp true');
    await synchronises();
    // What it does after a minute.
    await machine.must('touch /var/lib/systemd/timesync/clock');
    const wanted = (await story.now()) - twoYearsMs;
    const { trusted, source } = await set(wanted);
    assert.deepEqual({ trusted, source }, { trusted: true, source: 'person' });
    assert.ok(isNear(await story.now(), wanted), 'the clock of the machine itself');
    assert.equal(await machine.must('timedatectl show -p NTP --value'), 'yes');
    await synchronises();
    await story.agent.stop();
    await story.agent.start();
    assert.equal((await read()).source, 'person', 'a restarted agent knows it');
    await machine.must('timedatectl set-ntp false && systemctl mask systemd-timesyncd');
    await machine.must(`rm -r ${slowStop} && systemctl daemon-reload`);
  });
});
