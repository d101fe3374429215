/** What helps with the conditions of the backend; their titles are on the first page. */
export const backendCondition = {
  foreign_station_devices:
    'Вони мають ідентифікатор іншої станції ({{ids}}) і не отримують відповіді. Якщо на цій станції змінили STATION_ID або вона втратила базу даних, поверніть той ідентифікатор. Якщо цим брокером користується інша станція, робити нічого не треба.',
  device_logins_missing:
    'Брокер повідомлень утратив входи деяких пристроїв ({{ids}}). Відновіть дані брокера або налаштуйте ці пристрої наново.',
} as const;
