import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewZone } from './devices.ts';
import { MailServerPut as Mail, NtfyPut as Ntfy } from './notifications.ts';
import { LoginRequest, SetupRequest } from './rest.ts';
import { fieldLimits, shortestText, textFault } from './text-fields.ts';

test('a field has the limits of the body that it becomes', () => {
  assert.deepEqual(fieldLimits(SetupRequest, 'name'), { maxLength: 100 });
  assert.deepEqual(fieldLimits(Mail, 'port'), { type: 'number', min: 1, max: 65_535 });
  assert.equal(shortestText(SetupRequest, 'password'), 10);
  assert.deepEqual(fieldLimits(SetupRequest, 'timeZones'), { maxLength: undefined });
  assert.equal(shortestText(SetupRequest, 'toString'), 0);
});

test('a text that the station would refuse has a fault', () => {
  const rows = [
    [LoginRequest, 'email', '', 'required'],
    [LoginRequest, 'email', 'olena', 'email'],
    [LoginRequest, 'email', 'olena@home', null],
    [LoginRequest, 'password', 'x', null],
    [SetupRequest, 'password', 'nine char', 'short'],
    [SetupRequest, 'password', 'ten chars!', null],
    [SetupRequest, 'password', 'x'.repeat(257), 'refused'],
    [NewZone, 'name', ' ', 'required'],
    [NewZone, 'name', 'Hall', null],
    [NewZone, 'name', '\u200b', 'refused'],
    [NewZone, 'name', 'Hall\u202e', 'refused'],
    [Mail, 'port', '', 'required'],
    [Mail, 'port', '0', 'number'],
    [Mail, 'port', '65536', 'number'],
    [Mail, 'port', '2.5', 'number'],
    [Mail, 'port', '465', null],
    [Mail, 'host', 'mail server', 'refused'],
    [Ntfy, 'topic', '', 'required'],
  ] as const;
  for (const [body, name, text, fault] of rows) assert.equal(textFault(body, name, text), fault, `${name}: ${text}`);
});
