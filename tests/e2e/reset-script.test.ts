import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { exists } from '@station/kit/durable-files';
import { tryRun } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

const script = join(import.meta.dirname, '../../deploy/reset.sh');
const passphrase = 'four plain words here';

/**
 * Runs reset.sh beside the files of a station, where it can remove nothing else: no network, no Docker, and only /opt, /srv and /run can be
 * written. Its standard input is the passphrase.
 */
async function reset(workspace: Workspace, options: string) {
  const folder = await workspace.subfolder(`machine-${Math.random().toString(36).slice(2)}`);
  for (const name of ['opt/station', 'opt/station-agent', 'srv']) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'opt/station/.env'), 'STATION_IMAGES=registry.example/station\n');
  await writeFile(join(folder, 'opt/station-agent/.env'), 'DATA_DIR=/var/lib/station-agent\n');
  const commands = [
    'set -e',
    `for path in opt srv; do mount --bind ${folder}/$path /$path; done`,
    'mount -o remount,ro,bind / 2>/dev/null || { mount --bind / / && mount -o remount,ro,bind /; }',
    'mount -t tmpfs none /run',
    `printf '%s\\n' '${passphrase}' | setsid sh ${script} ${options}`,
  ];
  const result = await tryRun('unshare', ['--mount', '--net', '--uts', 'sh', '-c', commands.join('\n')]);
  const isWhole = await exists(join(folder, 'opt/station-agent/.env'));
  return { ...result, isWhole };
}

describe('reset.sh removes nothing', () => {
  const refused = 1;
  const usage = 64;
  const cases: [name: string, options: string, exitCode: number, expected: RegExp][] = [
    [
      'without Docker, when a backup is wanted',
      '--yes --backup /srv/kept --passphrase-fd 0',
      refused,
      /Docker does not answer\. Nothing was removed\./,
    ],
    [
      'when the backup would be removed with the station',
      '--yes --backup /opt/station/kept --passphrase-fd 0',
      refused,
      /\/opt\/station\/kept: it is removed with the station\./,
    ],
    [
      'when the backup would be in memory',
      '--yes --backup /run/kept --passphrase-fd 0',
      refused,
      /it is in memory only\./,
    ],
    [
      'when the folder cannot be written to',
      '--yes --backup /usr/kept --passphrase-fd 0',
      refused,
      /it cannot be written to\./,
    ],
    [
      'when the folder is not named from the root',
      '--yes --backup kept --passphrase-fd 0',
      refused,
      /it must begin with \//,
    ],
    ['when nobody can be asked', '', refused, /There is no terminal to ask on\. Use --yes\./],
    [
      'when a backup has no passphrase and nothing is asked',
      '--yes --backup /srv',
      usage,
      /needs --passphrase-file or --passphrase-fd/,
    ],
    [
      'when the passphrase is in no file',
      '--yes --backup /srv --passphrase-file /srv/none',
      usage,
      /\/srv\/none has no passphrase/,
    ],
    [
      'when the passphrase is in no descriptor',
      '--yes --backup /srv --passphrase-fd 12',
      usage,
      /a number from 0 to 8/,
    ],
    [
      'when the descriptor of the passphrase is closed',
      '--yes --backup /srv --passphrase-fd 7',
      usage,
      /file descriptor 7 has no passphrase/,
    ],
    ['when a passphrase has no backup', '--yes --passphrase-fd 0', usage, /a passphrase needs --backup/],
    [
      'when a backup is wanted and not wanted',
      '--no-backup --backup /srv --passphrase-fd 0',
      usage,
      /contradict each other/,
    ],
    ['when an option has no value', '--yes --backup', usage, /--backup needs a value/],
  ];
  for (const [name, options, exitCode, expected] of cases) {
    test(name, async () => {
      await using workspace = await createWorkspace();
      const result = await reset(workspace, options);
      assert.match(result.stderr, expected);
      assert.equal(result.exitCode, exitCode);
      assert.equal(result.isWhole, true);
      assert.ok(!`${result.stdout}${result.stderr}`.includes(passphrase));
    });
  }

  test('from a copy that was cut while it was downloaded', async () => {
    await using workspace = await createWorkspace();
    const text = await readFile(script, 'utf8');
    const folder = await workspace.subfolder('cut');
    for (let part = 1; part <= 10; part += 1) {
      const cut = join(folder, 'reset.sh');
      await writeFile(cut, text.slice(0, Math.floor(((text.length - 12) * part) / 10)));
      const { stdout } = await tryRun('unshare', ['--net', 'sh', cut, '--help']);
      assert.equal(stdout, '', `cut after ${part * 10} %`);
    }
  });
});

test('reset.sh with --yes says that it makes no backup, and removes the files', async () => {
  await using workspace = await createWorkspace();
  const { stdout, isWhole } = await reset(workspace, '--yes --keep-docker');
  assert.match(stdout, /No backup is made; --backup FOLDER would make one\./);
  assert.equal(isWhole, false);
});
