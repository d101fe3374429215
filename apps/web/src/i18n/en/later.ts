import { automations } from './automations.ts';
import { backup } from './backup.ts';
import { backendCondition, backendConditionTitle, filledDisk } from './backend-conditions.ts';
import { cloud } from './cloud.ts';
import { devicePage } from './device-page.ts';
import { devicesWifi } from './devices-wifi.ts';
import { diagnostics } from './diagnostics.ts';
import { finding } from './findings.ts';
import { firmware } from './firmware.ts';
import { provisioning } from './provisioning.ts';
import { reason } from './reasons.ts';
import { station } from './station.ts';
import { unknownDevices } from './unknown-devices.ts';

/** English texts of the pages that are fetched after the first one. */
export const later = {
  more: { title: 'More', lead: 'Everything else about this station.' },
  members: {
    title: 'Members',
    count_one: 'One person has access to this station.',
    count_other: '{{count}} people have access to this station.',
    fault: 'The members could not be read',
    people: 'People',
    you: 'You',
    change: 'Change {{name}}',
    add: 'Add member',
    alone: {
      title: 'Only you so far',
      help: 'Add the people you live or work with. Each has a log-in of their own, so nobody shares a password.',
    },
    readOnly: 'Only the owner and administrators can add, change or remove people. Ask one of them.',
    roles: {
      title: 'What each role may do',
      owner: 'Everything, including who is an administrator.',
      admin: 'Add and change devices and automations, update the station, add and remove members.',
      member: 'See everything and use the devices. Changes nothing else.',
    },
    role: 'Role',
    ownerChooses: 'Only the owner can change a role.',
    dialog: {
      add: 'Add a member',
      name: 'Name',
      email: 'E-mail',
      emailHelp: 'Used to log in. Nothing is sent there.',
      passwordComes: 'The station makes a first password, and shows it to you once.',
      submit: 'Add',
      exists: 'Someone with this address is a member already.',
      save: 'Save',
      done: 'Done',
      newPassword: 'Make a new password',
      newPasswordHelp: 'For when it was forgotten. The old one stops working, and {{name}} is logged out everywhere.',
      remove: 'Remove from this station',
    },
    made: {
      added: '{{name}} can log in now',
      replaced: 'New password for {{name}}',
      help: 'Pass this on. The password is shown only here and only now; it can be changed later under Account.',
      address: 'Address',
      password: 'Password',
      copy: 'Copy',
      copied: 'Copied',
      notCopied: 'This browser does not allow copying here. Select the lines instead.',
    },
    remove: {
      title: 'Remove {{name}}?',
      help: '{{name}} is logged out everywhere at once and can no longer see or use this station.',
      stays: 'What they set up stays. You can add them again later.',
      confirm: 'Remove',
      keep: 'Keep',
    },
  },
  settings: {
    title: 'Settings',
    fault: 'The settings could not be read',
    saved: 'Saved.',
    save: 'Save',
    readOnly: 'Only the owner and administrators can change the settings of the station.',
    station: {
      title: 'This station',
      name: 'Name',
      timeZone: 'Time zone',
      timeNow: 'It is {{time}} there now. Automations go by this clock.',
    },
    wifi: {
      title: 'Wi-Fi for new devices',
      help: 'A device that you add is told this network and its password. Devices that are already here keep theirs.',
      current: 'New devices join {{ssid}}',
      open: 'An open network, without a password.',
      hidden: 'Its password is kept encrypted and never shown again.',
      set: 'set {{time}}',
      none: 'No network is set yet, so a new device has to be told when it is added.',
      ssid: 'Network name',
      password: 'Password',
      missing: 'Type the password of this network, also when it is the same as before.',
      withoutPassword: 'This network has no password',
      short: 'A Wi-Fi password has at least 8 characters.',
      change: 'Change network',
      choose: 'Set network',
      forget: 'Forget it',
    },
    language: { title: 'Language', help: 'Of these pages, in this browser only.' },
    unknown: { title: 'Unknown devices', help: 'Accept or block' },
    account: { title: 'Your account', help: 'Password, log out' },
    about: {
      title: 'About',
      release: 'Release',
      agent: 'Update service',
      stationId: 'Station id',
      licence: 'Licence',
      licenceName: 'Apache License 2.0, free software',
      data: 'Your data',
      dataHelp:
        'Devices, history, automations and people are kept on the station itself, in its own database. It needs no cloud, and updates and returns to an earlier release leave the data alone.',
      unknown: 'unknown',
    },
  },
  sessions: {
    title: 'Where you are logged in',
    fault: 'Where you are logged in could not be read',
    device: '{{browser}} on {{system}}',
    unknown: 'Unknown device',
    current: 'This browser',
    used: 'Last used {{time}}',
    end: 'Log out',
    endNamed: 'Log out: {{name}}',
    endHere: 'Only in this browser.',
  },

  password: {
    title: 'Password',
    current: 'Present password',
    next: 'New password',
    submit: 'Change password',
    changed: 'Your password is changed. Everywhere else you are logged out.',
    wrong: 'The present password is not right.',
  },

  automations,
  backendCondition,
  filledDisk,
  backendConditionTitle,
  backup,
  devicePage,
  devicesWifi,
  diagnostics,
  finding,
  firmware,
  cloud,
  provisioning,
  reason,
  station,
  unknownDevices,
} as const;
