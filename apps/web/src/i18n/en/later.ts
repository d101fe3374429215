import { activityLog } from './activity-log.ts';
import { arrange } from './arrange.ts';
import { automations } from './automations.ts';
import { backup } from './backup.ts';
import { backendCondition, backendConditionTitle, filledDisk, heldDatabase } from './backend-conditions.ts';
import { cloud } from './cloud.ts';
import { deviceList } from './device-list.ts';
import { devicePage } from './device-page.ts';
import { devicesWifi } from './devices-wifi.ts';
import { diagnostics } from './diagnostics.ts';
import { finding } from './findings.ts';
import { find } from './find.ts';
import { firmware } from './firmware.ts';
import { passkeys } from './passkeys.ts';
import { log } from './log.ts';
import { machine } from './machine.ts';
import { network } from './network.ts';
import { notifications } from './notifications.ts';
import { provisioning } from './provisioning.ts';
import { reason } from './reasons.ts';
import { secure } from './secure.ts';
import { station } from './station.ts';
import { unknownDevices } from './unknown-devices.ts';

/** English texts of the pages that are fetched after the first one. */
export const later = {
  draft: { found: 'These changes are not saved yet.', discard: 'Discard changes' },
  members: {
    title: 'People and guests',
    count_one: 'One person has access to this station.',
    count_other: '{{count}} people have access to this station.',
    fault: 'The members could not be read',
    people: 'People',
    you: 'You',
    change: 'Change {{name}}',
    add: 'Add member',
    alone: {
      title: 'Only you so far',
      help: 'Add the people you live or work with. Each has their own login, so nobody shares a password.',
    },
    readOnly: 'Only the owner and administrators can add, change or remove people. Ask one of them.',
    roles: {
      title: 'What each role may do',
      owner: 'Everything, including who is an administrator.',
      admin: 'Add and change devices and automations, update the station, add and remove members.',
      member: 'See everything, use the devices and run automations, but change nothing.',
      limited: 'See and use the devices of some zones, with their history, and nothing else.',
      guest: 'Use the devices of some zones until a time that you set. No history.',
    },
    role: 'Role',
    zones: {
      title: 'Zones',
      none: 'There are no zones yet. Put the devices into zones first.',
      missing: 'Choose at least one zone.',
      only: 'Only: {{zones}}',
      gone: 'Their zones were removed',
    },
    end: {
      title: 'Access ends',
      tonight: 'Tonight, at midnight',
      day: 'In one day',
      week: 'In one week',
      date: 'On a date',
      when: 'Date and time',
      zone: 'Time zone of the station: {{zone}}',
      past: 'Choose a time in the future.',
      missing: 'Enter a date and a time.',
      until: 'until {{time}}',
      over: 'ended {{time}}',
    },
    dialog: {
      add: 'Add a member',
      name: 'Name',
      email: 'E-mail',
      emailHelp: 'Used to log in. Nothing is sent there.',
      passwordComes: 'The station creates a first password and shows it to you once.',
      submit: 'Add',
      exists: 'Someone with this address is already a member.',
      save: 'Save',
      done: 'Done',
      newPassword: 'Create a new password',
      newPasswordHelp:
        'If {{name}} forgot it. The old one and passkeys stop working, and {{name}} is logged out everywhere.',
      remove: 'Remove from this station',
    },
    made: {
      added: '{{name}} can log in now',
      replaced: 'New password for {{name}}',
      help: 'Pass this on. The password is shown only once; it can be changed later under Account.',
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
  appearance: {
    title: 'Appearance',
    system: 'As the device',
    light: 'Light',
    dark: 'Dark',
    help: 'Applies to this browser only.',
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
      zoneHere: 'Use the time zone of this device: {{zone}}',
      timeNow: 'It is {{time}} there now. Automations use this clock.',
    },
    place: {
      title: 'Where the station is',
      help: 'For automations that follow sunrise and sunset. Kept on the station, to about a kilometre.',
      city: 'City nearby',
      cities: 'Cities',
      choose: 'Choose…',
      latitude: 'Latitude',
      longitude: 'Longitude',
      wrong: 'A number from −{{most}} to {{most}}.',
      here: 'Use the place of this device',
      refused: 'This device does not tell where it is. Choose a city, or enter the numbers.',
      forget: 'Forget the place',
    },
    wifi: {
      title: 'Wi-Fi for new devices',
      help: 'New devices get this network and its password. Devices that are already here keep theirs.',
      current: 'New devices join {{ssid}}',
      open: 'An open network, without a password.',
      hidden: 'Its password is kept encrypted and never shown again.',
      set: 'set {{time}}',
      none: 'No network is set yet, so you enter one each time you add a device.',
      ssid: 'Network name',
      password: 'Password',
      missing: 'Enter the password of this network, even if it is the same as before.',
      withoutPassword: 'This network has no password',
      range: 'With WPA2 a password has 8 to 63 characters. Only WPA3 has shorter and longer ones.',
      change: 'Change network',
      choose: 'Set network',
      forget: 'Forget it',
    },
    rows: {
      account: { title: 'Account', help: 'Password, language, log out' },
      household: { title: 'Home and zones', help: 'Name, time zone, place, zones' },
      network: { title: 'Wi-Fi and network', help: 'Networks near, hotspot, Wi-Fi of devices' },
      updates: { title: 'Updates', help: 'Station and devices: what runs, what is new' },
      backup: { title: 'Backup', help: 'Create, download, restore, each night' },
      notifications: { title: 'Notifications', help: 'This browser, e-mail, quiet hours' },
      members: { title: 'People and guests', help: 'Who has access' },
      consumers: { title: 'Home Assistant and others', help: 'Devices of this station in other systems' },
      cloud: { title: 'Remote access', help: 'Through the cloud' },
      diagnostics: { title: 'Diagnostics and logs', help: 'What is wrong, services, machine, logs' },
      about: { title: 'About', help: 'Release, licence, your data, encryption' },
    },
    zones: {
      title: 'Zones',
      none: 'There are no zones yet. Put a device into a new zone.',
      devices_one: '{{count}} device',
      devices_other: '{{count}} devices',
    },
    about: {
      title: 'About',
      release: 'Release',
      agent: 'Update service',
      stationId: 'Station id',
      licence: 'Licence',
      licenceName: 'Apache License 2.0, free software',
      data: 'Your data',
      dataHelp:
        'Devices, history, automations and people are stored on the station itself, in its own database. No cloud is needed, and updates and rollbacks leave the data alone.',
      unknown: 'unknown',
    },
  },
  sessions: {
    notEnded: 'You are still logged in',
    title: 'Where you are logged in',
    fault: 'Your logins could not be read',
    device: '{{browser}} on {{system}}',
    unknown: 'Unknown device',
    current: 'This browser',
    used: 'Last used {{time}}',
    end: 'Log out',
    endNamed: 'Log out: {{name}}',
    endHere: 'Only in this browser.',
    everywhere: 'Log out everywhere',
    everywhereAsk: 'Log out everywhere?',
    everywhereHelp:
      'Every browser and phone in which you are logged in has to log in again, this one too. Your password and passkeys stay.',
  },

  password: {
    title: 'Password',
    current: 'Current password',
    next: 'New password',
    submit: 'Change password',
    changed: 'Your password has been changed. You’ve been logged out on other devices.',
    wrong: 'The current password is wrong.',
    same: 'This is the current password. Choose another one.',
  },

  arrange,
  automations,
  backendCondition,
  filledDisk,
  heldDatabase,
  backendConditionTitle,
  backup,
  devices: deviceList,
  activityLog,
  devicePage,
  devicesWifi,
  diagnostics,
  find,
  finding,
  firmware,
  cloud,
  passkeys,
  log,
  machine,
  network,
  notifications,
  provisioning,
  reason,
  secure,
  station,
  unknownDevices,
} as const;
