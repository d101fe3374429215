import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFault } from './compose-fault.ts';

const env = 'A=1\nMQTT_PASSWORD="s3cret-value"\nOTHER=gr\u00c3\u00b6\u00c3\u009fer\n';

// Said by Compose 2.26 of projects with these faults.
for (const [said, told] of [
  [
    'error while interpolating services.a.environment.PW: required variable MQTT_PASSWORD is missing a value: set it in .env',
    'error while interpolating services.a.environment.PW: required variable MQTT_PASSWORD is missing a value: set it in .env',
  ],
  ["yaml: line 4: could not find expected ':'", "yaml: line 4: could not find expected '…'"],
  [
    'time="2026-01-01T00:00:00Z" level=warning msg="The \\"X\\" variable is not set."\nservice "a" has neither an image nor a build context specified: invalid compose project\n',
    'service "a" has neither an image nor a build context specified: invalid compose project',
  ],
  [
    'invalid interpolation format for services.a.environment.PW.\nYou may need to escape any $ with another $.\ns3$cret',
    'invalid interpolation format for services.a.environment.PW.',
  ],
  ['Invalid containerPort: s3cret-value', 'Invalid containerPort: …'],
  ['Invalid containerPort: größer', 'Invalid containerPort: …'],
  [
    'failed to read /srv/station/.env: line 2: unterminated quoted value "s3cr',
    'failed to read .env: line 2: unterminated quoted value "…"',
  ],
  [
    'failed to read /srv/station/.env: line 2: unexpected character "\\"" in variable name "s3c\\"ret"',
    'failed to read .env: line 2: unexpected character "…" in variable name "…"',
  ],
  [
    'yaml: unmarshal errors:\n  line 3: cannot unmarshal !!str `s3cret` into int',
    'yaml: unmarshal errors: line 3: cannot unmarshal !!str `…` into int',
  ],
  [
    'validating /srv/station/compose.yaml: services.a Additional property foo is not allowed',
    'validating compose.yaml: services.a Additional property foo is not allowed',
  ],
  ['stat /srv/station/a.yml: no such file or directory', 'stat a.yml: no such file or directory'],
  ['', 'Compose gives no reason'],
] as const) {
  test(`tells "${told}"`, () => assert.equal(describeFault(said, env), told));
}
